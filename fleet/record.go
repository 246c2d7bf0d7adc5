package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// mostUnsaved bounds what is kept of decisions while the database is away.
const mostUnsaved = 1000

// keep remembers a tick until it is recorded.
func (s *Scheduler) keep(cfg Config, o *observed, r Report) {
	memory := Remember(o.snap.At, cfg, o.snap, r.Decisions)
	s.memory = &memory
	s.unsaved = append(s.unsaved, r.Decisions...)
	s.unsaved = s.unsaved[max(0, len(s.unsaved)-mostUnsaved):]
	for _, d := range r.Decisions {
		if d.Request != "" {
			s.answered[d.Request] = true
		}
	}
}

// record writes down what was decided and what is remembered. What cannot be
// written is kept, and written with a later tick.
func (s *Scheduler) record(ctx context.Context, cfg Config, o *observed, r Report, held func(context.Context) error) error {
	s.keep(cfg, o, r)
	memory := *s.memory
	kept := &memory
	lost := errors.Is(context.Cause(ctx), errLost)
	// A tick that was told to stop has acted all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), databaseTime)
	defer cancel()
	if err := s.settleLatch(ctx); err != nil {
		return err
	}
	s.Failpoint("record")
	entries, err := s.reconcile(ctx, cfg, o, &memory)
	if err != nil {
		return err
	}
	if lost || held(ctx) != nil { // another one remembers and corrects by now
		kept, entries = nil, nil
	}
	err = s.Ledger.Record(ctx, Record{Decisions: s.unsaved, Entries: entries, Memory: kept, Answered: sortedKeys(s.answered)})
	if err != nil {
		return err
	}
	if s.last != nil { // what is remembered once the database is away
		s.last.snap.Memory = memory
	}
	s.memory, s.unsaved = nil, nil
	clear(s.answered)
	return nil
}

// reconcile compares what was booked with what the providers say, when it is time.
func (s *Scheduler) reconcile(ctx context.Context, cfg Config, o *observed, m *Memory) ([]SpendEntry, error) {
	ask, due := ReconcileDue(o.snap.At, o.snap)
	if !due || o.snap.Fault(sourceDatabase) != nil {
		return nil, nil
	}
	bills, err := s.Ledger.Bills(ctx, ask)
	if err != nil {
		return nil, fmt.Errorf("list bills: %w", err)
	}
	m.Reconciled = o.snap.At
	return Reconcile(o.snap.At, cfg, o.snap, bills), nil
}

// tell logs the decisions. A queue that is held for the same reason as before is
// said once.
func (s *Scheduler) tell(r Report) {
	for _, d := range r.Decisions {
		level := slog.LevelInfo
		if d.Failed {
			level = slog.LevelWarn
		}
		if d.Kind == KindHold && d.WorkerID == "" {
			why := d.Rule + d.Limit
			if s.said[d.Queue] == why {
				level = slog.LevelDebug
			}
			s.said[d.Queue] = why
		}
		s.Log.Log(context.Background(), level, "scaling decision", "decision_id", d.ID, "kind", string(d.Kind), "queue", d.Queue,
			"worker_id", d.WorkerID, "provider", d.Provider, "rule", d.Rule, "reason", d.Sentence, "limit", d.Limit, "outcome", d.Outcome)
	}
}
