package jobstest

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// Claim is of jobs.ClaimStore.
func (s *Store) Claim(ctx context.Context, c jobs.Claim) ([]jobs.Job, error) {
	return call(ctx, s, "Claim", func(now time.Time) ([]jobs.Job, error) {
		w := s.workers[c.WorkerID]
		if w == nil || w.row.Status != jobs.WorkerActive {
			return nil, nil
		}
		if r := s.suspect(c.Queues, c.Market, c.MaxRank); c.Alone && c.N > 0 && r != nil {
			s.start(r, c, now)
			return []jobs.Job{r.copied()}, nil
		}
		var taken []jobs.Job
		for len(taken) < c.N {
			r := s.next(c)
			if r == nil {
				break
			}
			s.start(r, c, now)
			taken = append(taken, r.copied())
		}
		return taken, nil
	})
}

// next is the job that a worker takes first.
func (s *Store) next(c jobs.Claim) *row {
	var best *row
	for at, line := range s.ready {
		if !slices.Contains(c.Queues, at.queue) || c.MaxRank != 0 && at.rank > c.MaxRank {
			continue
		}
		i := slices.IndexFunc(line, func(r *row) bool { return c.Market.Allowed(r.job.Spec) && r.job.Lost < jobs.Suspect })
		if i < 0 {
			continue
		}
		if r := line[i]; best == nil || cmp.Or(cmp.Compare(r.job.Rank, best.job.Rank), r.before(best)) < 0 {
			best = r
		}
	}
	return best
}

// suspect is the first that waits to run alone.
func (s *Store) suspect(queues []string, market jobs.Market, maxRank int) *row {
	var best *row
	for at, line := range s.ready {
		if maxRank != 0 && at.rank > maxRank {
			continue
		}
		for _, r := range line {
			if slices.Contains(queues, at.queue) && r.job.Lost >= jobs.Suspect && market.Allowed(r.job.Spec) &&
				(best == nil || cmp.Or(cmp.Compare(r.job.Rank, best.job.Rank), r.before(best)) < 0) {
				best = r
			}
		}
	}
	return best
}

func (s *Store) start(r *row, c jobs.Claim, now time.Time) {
	s.withdraw(r)
	s.tokens++
	j := &r.job
	j.State, j.StartedAt, j.WorkerID = jobs.Running, now, c.WorkerID
	j.Token, j.LeaseUntil = "token-"+strconv.Itoa(s.tokens), now.Add(c.Lease)
	j.Deliveries++
	j.Version++
	r.attempts = append(r.attempts, jobs.Attempt{
		JobID: j.ID, Number: j.Deliveries, WorkerID: c.WorkerID, Status: jobs.AttemptRunning, StartedAt: now,
	})
}

// Beat is of jobs.ClaimStore.
func (s *Store) Beat(ctx context.Context, workerID string, lease time.Duration, pulses []jobs.Pulse) ([]jobs.ID, error) {
	return call(ctx, s, "Beat", func(now time.Time) ([]jobs.ID, error) {
		var lost []jobs.ID
		for _, pulse := range pulses {
			r, err := s.held(pulse.Lease)
			if err != nil {
				lost = append(lost, pulse.ID)
				continue
			}
			r.job.LeaseUntil = now.Add(lease)
			if pulse.Progress != nil {
				r.job.Progress = *pulse.Progress
				r.job.Version++
			}
		}
		if w := s.workers[workerID]; w != nil {
			w.row.LastHeartbeat, w.row.CurrentJobs = now, len(pulses)-len(lost)
		}
		return lost, nil
	})
}

// Signals is of jobs.ClaimStore.
func (s *Store) Signals(ctx context.Context, workerID string) (jobs.Signals, error) {
	return call(ctx, s, "Signals", func(now time.Time) (jobs.Signals, error) {
		w := s.workers[workerID]
		if w == nil {
			return jobs.Signals{}, jobs.ErrNotFound
		}
		signals := jobs.Signals{Status: w.row.Status, Suspect: s.suspect(w.row.Queues, w.row.Market, w.maxRank) != nil, MaxRank: w.maxRank}
		if w.row.Status == jobs.WorkerDraining {
			signals.DrainIn = max(0, w.row.DrainDeadline.Sub(now))
		}
		for _, r := range s.oldest(len(s.rows), func(r *row) bool {
			return r.job.State == jobs.Running && r.job.WorkerID == workerID && r.job.CancelAsked
		}) {
			signals.Cancel = append(signals.Cancel, r.job.ID)
		}
		return signals, nil
	})
}

// SaveCheckpoints is of jobs.ClaimStore.
func (s *Store) SaveCheckpoints(ctx context.Context, l jobs.Lease, parts []jobs.Checkpoint) error {
	return do(ctx, s, "SaveCheckpoints", func(now time.Time) error {
		r, err := s.held(l)
		if err != nil {
			return err
		}
		for _, part := range parts {
			if _, ok := r.parts[part.Key]; ok {
				continue
			}
			r.parts[part.Key] = jobs.Checkpoint{
				Key: part.Key, Value: bytes.Clone(part.Value),
				Number: r.job.Deliveries, WorkerID: r.job.WorkerID, CreatedAt: now,
			}
		}
		return nil
	})
}

// Checkpoints is of jobs.ClaimStore.
func (s *Store) Checkpoints(ctx context.Context, id jobs.ID, after string, limit int) ([]jobs.Checkpoint, error) {
	return call(ctx, s, "Checkpoints", func(time.Time) ([]jobs.Checkpoint, error) {
		r := s.rows[id]
		if r == nil {
			return nil, nil
		}
		var page []jobs.Checkpoint
		for _, key := range slices.Sorted(maps.Keys(r.parts)) {
			if key > after && len(page) < limit {
				page = append(page, r.parts[key])
			}
		}
		return page, nil
	})
}
