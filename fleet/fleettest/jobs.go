package fleettest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// long is from where on a spot machine takes a job only when it resumes.
const long = 30 * time.Minute

// Job is what a queue holds. Queue and Priority are needed.
type Job struct {
	ID        int64
	Queue     string
	Priority  int
	Tenant    string
	Estimated time.Duration // what its sender thinks that it takes
	Resumes   bool          // has checkpoints: goes on where it was
	Fails     bool          // ends as failed
	// Work is how long it takes, and Done how much of that is behind it.
	Work, Done time.Duration
	// EligibleAt is from when on it may run; the zero value is now.
	EligibleAt, CreatedAt, StartedAt time.Time
	WorkerID                         string // who has it
	Requeued                         int    // how often it was given back
}

// fits is the routing table, as jobs.Market.Allowed has it.
func (j *Job) fits(m fleet.Market) bool {
	return m != fleet.Spot || j.Priority > 3 && (j.Estimated <= long || j.Resumes)
}

type queue struct {
	waiting  []*Job // by priority, then number; those of later times too
	arrivals []time.Time
	past     []attempt // the latest that succeeded or failed
}

// attempt is one run of a job that has ended.
type attempt struct {
	queue, tenant, worker string
	from, until           time.Time
	status                string // "succeeded", "failed" or "released"
}

func (s *Store) queue(name string) *queue {
	if s.queues[name] == nil {
		s.queues[name] = &queue{}
	}
	return s.queues[name]
}

// Enqueue puts jobs into their queues and answers their numbers.
func (s *Store) Enqueue(jobs ...Job) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]int64, 0, len(jobs))
	for _, j := range jobs {
		s.lastJob++
		j.ID, j.CreatedAt = s.lastJob, s.now()
		if j.EligibleAt.IsZero() {
			j.EligibleAt = j.CreatedAt
		}
		q := s.queue(j.Queue)
		q.arrivals = append(q.arrivals, j.CreatedAt)
		q.put(&j)
		ids = append(ids, j.ID)
	}
	return ids
}

func (q *queue) put(j *Job) {
	at, _ := slices.BinarySearchFunc(q.waiting, j, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.ID, b.ID))
	})
	q.waiting = slices.Insert(q.waiting, at, j)
}

// Claim gives a worker the next job that it may have: it must be active, have a
// slot, serve the queue, and be of a market in which the job may run.
func (s *Store) Claim(workerID string) (Job, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	w := s.workers[workerID]
	if w == nil || w.Status != fleet.Active || s.claimed(workerID) >= max(1, w.Slots) {
		return Job{}, false
	}
	var best *Job
	for _, name := range w.Queues {
		j := s.queue(name).first(w, now)
		if j != nil && (best == nil || j.Priority < best.Priority) {
			best = j
		}
	}
	if best == nil {
		return Job{}, false
	}
	s.queue(best.Queue).take(best)
	best.WorkerID, best.StartedAt = workerID, now
	s.running[best.ID] = best
	w.CurrentJobs = s.claimed(workerID)
	return *best, true
}

func (q *queue) first(w *fleet.Worker, now time.Time) *Job {
	for _, j := range q.waiting {
		if w.MaxRank != 0 && j.Priority > w.MaxRank {
			return nil
		}
		if j.fits(w.Market) && !j.EligibleAt.After(now) {
			return j
		}
	}
	return nil
}

func (q *queue) take(j *Job) {
	q.waiting = slices.DeleteFunc(q.waiting, func(other *Job) bool { return other == j })
}

func (s *Store) claimed(workerID string) int {
	n := 0
	for _, j := range s.running {
		if j.WorkerID == workerID {
			n++
		}
	}
	return n
}

// Finish ends a job that its worker still has, as failed if it Fails; it answers
// false for any other, as a zombie's writes are refused.
func (s *Store) Finish(workerID string, id int64) bool { return s.finish(workerID, id, false) }

// Fail ends it as failed.
func (s *Store) Fail(workerID string, id int64) bool { return s.finish(workerID, id, true) }

func (s *Store) finish(workerID string, id int64, fails bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.running[id]
	if j == nil || j.WorkerID != workerID {
		return false
	}
	status := "succeeded"
	if fails || j.Fails {
		status = "failed"
	}
	now := s.now()
	s.end(j, status, now)
	if w := s.workers[workerID]; w != nil {
		w.LastJobCompletedAt, w.CurrentJobs = now, s.claimed(workerID)
	}
	return true
}

func (s *Store) end(j *Job, status string, now time.Time) {
	a := attempt{j.Queue, j.Tenant, j.WorkerID, j.StartedAt, now, status}
	s.attempts = append(s.attempts, a)
	if q := s.queue(j.Queue); status != "released" {
		q.past = append(q.past, a)
		q.past = q.past[max(0, len(q.past)-recent):]
	}
	delete(s.running, j.ID)
}

// Release gives back whatever a worker has claimed, as one does that drains and
// has no time left. It answers the numbers.
func (s *Store) Release(workerID string) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requeue(workerID, s.now())
}

func (s *Store) requeue(workerID string, now time.Time) []int64 {
	var ids []int64
	for _, id := range slices.Sorted(maps.Keys(s.running)) {
		j := s.running[id]
		if j.WorkerID != workerID {
			continue
		}
		s.end(j, "released", now)
		if j.Resumes {
			j.Done = min(j.Work, j.Done+now.Sub(j.StartedAt))
		}
		j.WorkerID, j.StartedAt, j.EligibleAt = "", time.Time{}, now
		j.Requeued++
		s.queue(j.Queue).put(j)
		ids = append(ids, id)
	}
	if w := s.workers[workerID]; w != nil {
		w.CurrentJobs = 0
	}
	return ids
}

// Running lists the jobs that somebody has claimed, in order of their numbers.
func (s *Store) Running() []Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Job
	for _, id := range slices.Sorted(maps.Keys(s.running)) {
		list = append(list, *s.running[id])
	}
	return list
}

// Waiting counts the jobs of a queue that nobody has claimed.
func (s *Store) Waiting(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue(name).waiting)
}

// Ended counts the attempts that ended as succeeded, failed or released.
func (s *Store) Ended(status string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, a := range s.attempts {
		if a.status == status {
			n++
		}
	}
	return n
}
