package jobs

import "time"

// seclusion is how a worker becomes free for a job that has to run alone: for
// the time of a lease it claims nothing while it holds something. When that was
// not enough, because its jobs are long, it works on for ten times as long
// before it tries again, so that a suspect never keeps a worker idle.
type seclusion struct {
	until, again time.Time
}

// look is told whether a suspect waits.
func (s *seclusion) look(waits bool, now time.Time, lease time.Duration) {
	switch {
	case !waits:
		*s = seclusion{} // somebody has it; the next one is worth as much
	case !now.Before(s.again):
		s.until, s.again = now.Add(lease), now.Add(11*lease)
	}
}

func (s *seclusion) on(now time.Time) bool { return now.Before(s.until) }

func (w *Worker) makeRoom(waits bool) {
	w.mu.Lock()
	before := w.seclude.on(w.cfg.Clock())
	w.seclude.look(waits, w.cfg.Clock(), w.cfg.Lease)
	after := w.seclude.on(w.cfg.Clock())
	w.mu.Unlock()
	if before != after {
		w.poke()
	}
}

// room is how many jobs may be claimed now.
func (w *Worker) room() int {
	n := w.admission().room()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) > 0 && w.seclude.on(w.cfg.Clock()) {
		return 0
	}
	for d := range w.held {
		if d.job.Lost >= Suspect {
			return 0
		}
	}
	return n
}

// alone says whether nothing would be lost together with what is claimed next.
func (w *Worker) alone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.held) == 0
}
