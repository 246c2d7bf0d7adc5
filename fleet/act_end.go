package fleet

import (
	"context"
	"errors"
	"fmt"
)

// terminate ends a machine, after a look at its row as it is now: what was
// observed may be a minute old, and the worker busy by now.
func (a *acting) terminate(ctx context.Context, lane string, d *Decision) error {
	w, err := a.mayEnd(ctx, d)
	if err != nil {
		return err
	}
	id := d.MachineID
	if id == "" {
		id = w.InstanceID
	}
	if id == "" {
		return errors.New("not ended: its machine is not known yet")
	}
	provider := d.Provider
	if provider == "" {
		provider = w.Provider
	}
	return a.endMachine(ctx, lane, w.ID, provider, id)
}

// endMachine notes in the row, if there is one, that the end was asked for, and
// asks for it. That it has ended is what the inventory says later.
func (a *acting) endMachine(ctx context.Context, lane string, workerID, provider, id string) error {
	if workerID != "" && a.o.snap.Fault(sourceDatabase) == nil {
		err := a.database(ctx, "terminating", func(ctx context.Context) error { return a.Rows.Terminating(ctx, workerID) })
		if err != nil {
			return err
		}
	}
	return a.end(ctx, lane, provider, "terminate", func(ctx context.Context, p Provider) error { return p.Terminate(ctx, id) })
}

// end is a call that ends something. What is not found is gone, or will be
// found by the next inventory.
func (a *acting) end(ctx context.Context, lane string, provider, step string, f func(context.Context, Provider) error) error {
	p := a.Providers[provider]
	if p == nil {
		return fmt.Errorf("%s: this program has no provider %q", step, provider)
	}
	if err := a.halted(lane); err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	a.Failpoint(step)
	_, err := bounded(ctx, a.calls, "ends at "+provider, endTime, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, f(ctx, p)
	})
	if err == nil || OutcomeOf(err) == NotFound {
		return nil
	}
	if OutcomeOf(err) == Throttled || errors.Is(err, context.DeadlineExceeded) {
		reason := fmt.Sprintf("%s has just answered %s", provider, OutcomeOf(err))
		a.halt(lane, reason)
		a.close(Place{Provider: provider}, reason)
	}
	return fmt.Errorf("%s at %s: %w", step, provider, err)
}

// mayEnd reads the row again and says why its machine must not be ended.
func (a *acting) mayEnd(ctx context.Context, d *Decision) (Worker, error) {
	if a.o.snap.Fault(sourceDatabase) != nil {
		return Worker{}, nil // only the daily limit ends machines then, by their tags
	}
	var rows []Worker
	err := a.database(ctx, "reread", func(ctx context.Context) (err error) {
		rows, err = a.Rows.Fleet(ctx)
		return err
	})
	if err != nil {
		return Worker{}, fmt.Errorf("not ended: %w", err)
	}
	for _, w := range rows {
		switch {
		case d.MachineID != "" && w.InstanceID == d.MachineID && (d.Provider == "" || w.Provider == d.Provider):
			return w, a.spares(w, d)
		case w.ID == d.WorkerID && (w.InstanceID == "" || d.MachineID == ""):
			return w, a.spares(w, d)
		}
	}
	if d.Machine == nil || d.MachineID == "" {
		return Worker{}, errors.New("not ended: it has no row any more")
	}
	return Worker{}, nil // a machine that no row stands for
}

// spares is why the machine of a row stays.
func (a *acting) spares(w Worker, d *Decision) error {
	stopped := d.Machine != nil && d.Machine.State == MachineStopped
	switch {
	case !w.Cloud() && w.LeftAt.IsZero():
		return errors.New("not ended: it is a VPS worker")
	case stopped || !w.TerminateAt.IsZero() || !w.LeftAt.IsZero() || w.Status == Provisioning:
		return nil
	case w.Status == Active:
		return errors.New("not ended: it takes jobs")
	case w.Claimed > 0 && (w.DrainDeadline.IsZero() || a.now().Before(w.DrainDeadline)):
		return fmt.Errorf("not ended: it has %d jobs, and time until %s", w.Claimed, w.DrainDeadline.UTC().Format("15:04:05"))
	}
	return nil
}
