package jobstest

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

var _ jobs.Store = (*Store)(nil)

// Store is a jobs.Store in memory.
type Store struct {
	now func() time.Time // the clock of this database

	mu        sync.Mutex // guards all below, and every row
	closed    bool
	knobs     map[string]*knob
	lastID    jobs.ID
	tokens    int
	rows      map[jobs.ID]*row
	ready     map[lane][]*row // in order of (fair tag, id)
	kept      map[string]jobs.ID
	unique    map[string]jobs.ID
	workers   map[string]*worker
	elections map[string]*election
}

// row is a job with all that belongs to it.
type row struct {
	job jobs.Job
	// ready is that the job is queued and its time has come, as Promote saw it.
	ready    bool
	attempts []jobs.Attempt
	parts    map[string]jobs.Checkpoint
	notice   *notice
}

// lane is where ready jobs stand in one line.
type lane struct {
	queue string
	rank  int
}

// NewStore makes an empty one. now is what its database would take for the time.
func NewStore(now func() time.Time) *Store {
	return &Store{
		now:       now,
		knobs:     map[string]*knob{},
		rows:      map[jobs.ID]*row{},
		ready:     map[lane][]*row{},
		kept:      map[string]jobs.ID{},
		unique:    map[string]jobs.ID{},
		workers:   map[string]*worker{},
		elections: map[string]*election{},
	}
}

// Close makes every later call fail.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (r *row) lane() lane { return lane{r.job.Queue, r.job.Rank} }

// before is the order within a lane.
func (r *row) before(other *row) int {
	return cmp.Or(cmp.Compare(r.job.Fair, other.job.Fair), cmp.Compare(r.job.ID, other.job.ID))
}

// admit makes a job ready and gives it its tag: anew, or again when it is given
// back at once.
func (s *Store) admit(r *row, again bool) {
	line := s.ready[r.lane()]
	last, head := 0.0, 0.0
	if len(line) > 0 {
		head = line[0].job.Fair
	}
	for _, other := range slices.Backward(line) {
		if other.job.Tenant == r.job.Tenant {
			last = other.job.Fair
			break
		}
	}
	if again {
		r.job.Fair = jobs.FairAgain(r.job.Fair, last, head, r.job.Cost())
	} else {
		r.job.Fair = jobs.FairTag(last, head, r.job.Cost())
	}
	r.ready = true
	at, _ := slices.BinarySearchFunc(line, r, (*row).before)
	s.ready[r.lane()] = slices.Insert(line, at, r)
}

// withdraw takes a job out of its line.
func (s *Store) withdraw(r *row) {
	if !r.ready {
		return
	}
	r.ready = false
	line := s.ready[r.lane()]
	at, _ := slices.BinarySearchFunc(line, r, (*row).before)
	s.ready[r.lane()] = slices.Delete(line, at, at+1)
	if len(s.ready[r.lane()]) == 0 {
		delete(s.ready, r.lane())
	}
}

// oldest lists rows by their ids, those first that came first, as far as they
// satisfy keep and no more than limit.
func (s *Store) oldest(limit int, keep func(*row) bool) []*row {
	var found []*row
	for id := jobs.ID(1); id <= s.lastID && len(found) < limit; id++ {
		if r := s.rows[id]; r != nil && keep(r) {
			found = append(found, r)
		}
	}
	return found
}

// copied is the job as a caller may keep it.
func (r *row) copied() jobs.Job {
	j := r.job
	j.Params, j.Result = bytes.Clone(j.Params), bytes.Clone(j.Result)
	return j
}

func copies(rows []*row) []jobs.Job {
	list := make([]jobs.Job, 0, len(rows))
	for _, r := range rows {
		list = append(list, r.copied())
	}
	return list
}

// orphaned says that a running job has no lease that holds.
func (r *row) orphaned(now time.Time) bool {
	return r.job.State == jobs.Running && (r.job.Token == "" || !r.job.LeaseUntil.After(now))
}

// held finds the job that runs under a lease.
func (s *Store) held(l jobs.Lease) (*row, error) {
	r := s.rows[l.ID]
	if r == nil || r.job.State != jobs.Running || l.Token == "" || r.job.Token != l.Token {
		return nil, jobs.ErrLeaseLost
	}
	return r, nil
}
