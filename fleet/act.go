package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// acting carries out the decisions of one tick. Those of different providers
// go side by side, so that one that hangs holds up its own only.
type acting struct {
	*Scheduler
	cfg  Config
	o    *observed
	held func(context.Context) error // that this is still the leader
	// over is true once the next tick should begin: what is not begun by then and
	// can wait is left to it, so that nothing keeps money from being looked at.
	over *atomic.Bool

	mu sync.Mutex // guards all below
	// booked are the machines that this tick launches, for the limits that
	// candidates other than the first have to pass.
	booked map[string]Worker
	closed map[Place]string // places that have failed in this tick, and why
	// stuck is why a lane makes no further call in this tick.
	stuck map[string]string
}

// lane is the decisions of one provider, carried out in their order. Those of
// the database alone have one, and so have notices.
type lane struct {
	name      string
	decisions []*Decision
}

// The lane of notices: channels can be slow.
const noticeLane = "notices"

// endsAtOnce is how many machines of a provider are ended side by side: at the
// daily limit each costs until its turn comes.
const endsAtOnce = 8

// shortestAct is how long launches and notices are begun at least.
const shortestAct = 15 * time.Second

// late is an error once the next tick is due.
func (a *acting) late() error {
	if !a.over.Load() {
		return nil
	}
	return errors.New("not tried: this tick has taken too long")
}

// act carries out decisions, and notes in each what came of it.
func (s *Scheduler) act(ctx context.Context, cfg Config, o *observed, decisions []Decision, held func(context.Context) error) {
	over := &atomic.Bool{}
	due := time.AfterFunc(max(cfg.EvaluationInterval, shortestAct), func() { over.Store(true) })
	defer due.Stop()
	a := &acting{Scheduler: s, cfg: cfg, o: o, held: held, over: over, booked: map[string]Worker{}, closed: map[Place]string{}, stuck: map[string]string{}}
	lanes := map[string]*lane{}
	for i := range decisions {
		d := &decisions[i]
		switch d.Kind {
		case KindRevert: // before all else: it is what stops the spending
			a.note(d, a.trip(ctx, d))
			continue
		case KindLaunch:
			a.reserve(d)
		}
		name := a.laneOf(d)
		if lanes[name] == nil {
			lanes[name] = &lane{name: name}
		}
		lanes[name].decisions = append(lanes[name].decisions, d)
	}
	beside(slices.Collect(maps.Values(lanes)), func(l *lane) { a.run(ctx, l) })
}

// run carries out a lane.
func (a *acting) run(ctx context.Context, l *lane) {
	for rest := l.decisions; len(rest) > 0; {
		n := 1
		for n < min(len(rest), endsAtOnce) && rest[n-1].Kind == KindTerminate && rest[n].Kind == KindTerminate {
			n++
		}
		beside(rest[:n], func(d *Decision) { a.carryOut(ctx, l.name, d) })
		rest = rest[n:]
	}
}

// halt keeps a lane from calling again in this tick; the first reason stays.
func (a *acting) halt(lane, reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stuck[lane] == "" {
		a.stuck[lane] = reason
	}
}

func (a *acting) halted(lane string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if reason := a.stuck[lane]; reason != "" {
		return fmt.Errorf("not tried: %s", reason)
	}
	return nil
}

// beside runs f for each side by side. A panic of one is the caller's, once all
// have ended.
func beside[T any](each []T, f func(T)) {
	var running sync.WaitGroup
	fell := make([]any, len(each))
	for i, one := range each {
		running.Go(func() {
			defer func() { fell[i] = recover() }()
			f(one)
		})
	}
	running.Wait()
	for _, cause := range fell {
		if cause != nil {
			panic(cause)
		}
	}
}

// laneOf is the provider that a decision is about.
func (a *acting) laneOf(d *Decision) string {
	switch {
	case d.Kind == KindAlert:
		return noticeLane
	case d.Kind == KindLaunch && d.Launch != nil && len(d.Launch.Candidates) > 0:
		return d.Launch.Candidates[0].Provider
	case d.Provider != "":
		return d.Provider
	}
	return a.worker(d.WorkerID).Provider
}

// worker is a row as it was observed; the zero value when there is none.
func (a *acting) worker(id string) Worker {
	for _, w := range a.o.snap.Workers {
		if w.ID == id {
			return w
		}
	}
	return Worker{}
}

// now is the database's time.
func (a *acting) now() time.Time { return a.o.now(a.Clock()) }

// note is what came of a decision.
func (a *acting) note(d *Decision, err error) {
	if err != nil {
		d.Failed, d.Outcome = true, reasonOf(err)
		return
	}
	if d.Outcome == "" {
		d.Outcome = OutcomeDone
	}
}

// carryOut does one decision.
func (a *acting) carryOut(ctx context.Context, lane string, d *Decision) {
	switch d.Kind {
	case KindLaunch:
		a.note(d, a.launch(ctx, d))
	case KindTerminate:
		a.note(d, a.terminate(ctx, lane, d))
	case KindDrain:
		a.note(d, a.database(ctx, "drain", func(ctx context.Context) error { return a.Drains.Drain(ctx, d.WorkerID, d.Within) }))
	case KindUndrain:
		a.note(d, a.database(ctx, "undrain", func(ctx context.Context) error { return a.Drains.Undrain(ctx, d.WorkerID) }))
	case KindRestrict:
		a.note(d, a.database(ctx, "restrict", func(ctx context.Context) error { return a.Drains.Restrict(ctx, d.WorkerID, d.MaxRank) }))
	case KindAdopt:
		a.note(d, a.adopt(ctx, d))
	case KindForget, KindRequeue:
		a.note(d, a.gone(ctx, d))
	case KindSweep:
		a.note(d, a.sweep(ctx, lane, d))
	case KindAlert:
		a.note(d, a.alert(ctx, d))
	case KindHold, KindReset, KindRevert:
		a.note(d, nil)
	}
}

// database is one statement, in its time. One that hangs is not followed by
// others, so that a tick ends.
func (a *acting) database(ctx context.Context, step string, f func(context.Context) error) error {
	if err := a.halted(sourceDatabase); err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	a.Failpoint(step)
	ctx, cancel := context.WithTimeout(ctx, databaseTime)
	defer cancel()
	if err := f(ctx); err != nil {
		if ctx.Err() != nil {
			a.halt(sourceDatabase, "the database does not answer")
		}
		return fmt.Errorf("%s: %w", step, err)
	}
	return nil
}

// trip sets the latch; without a database it is set here, and there later.
func (a *acting) trip(ctx context.Context, d *Decision) error {
	if d.Latch == nil {
		return errors.New("trip: no latch is given")
	}
	a.latch = d.Latch
	if a.o.snap.Fault(sourceDatabase) != nil {
		return nil
	}
	return a.settleLatch(ctx)
}

// settleLatch writes down a latch that was tripped.
func (s *Scheduler) settleLatch(ctx context.Context) error {
	if s.latch == nil {
		return nil
	}
	s.Failpoint("trip")
	ctx, cancel := context.WithTimeout(ctx, databaseTime)
	defer cancel()
	if err := s.Ledger.Trip(ctx, *s.latch); err != nil {
		return fmt.Errorf("trip: %w", err)
	}
	s.latch = nil
	return nil
}

// adopt writes into a row which machine is its.
func (a *acting) adopt(ctx context.Context, d *Decision) error {
	if d.Machine == nil {
		return errors.New("adopt: no machine is given")
	}
	o := a.offerOf(d.Machine.Place, a.worker(d.WorkerID))
	return a.database(ctx, "adopt", func(ctx context.Context) error { return a.Rows.Attach(ctx, d.WorkerID, *d.Machine, o) })
}

// offerOf is the money of a machine that is there: as it was launched, as it is
// offered now, or as the row has it.
func (a *acting) offerOf(p Place, w Worker) Offer {
	if w.Place == p && w.Rate > 0 {
		return Offer{Place: p, Price: w.Rate, Ceiling: w.Ceiling, Granularity: w.Granularity}
	}
	for _, o := range a.o.snap.Offers {
		if o.Place == p {
			return a.cfg.Providers[p.Provider].complete(o)
		}
	}
	rate := max(w.Rate, a.o.snap.rateOf(a.cfg, p))
	return Offer{Place: p, Price: rate, Ceiling: max(rate, w.Ceiling), Granularity: w.Granularity}
}

// gone ends the row of a machine that is none any more.
func (a *acting) gone(ctx context.Context, d *Decision) error {
	at := a.now()
	if d.Machine != nil && !d.Machine.TerminatedAt.IsZero() {
		at = earlier(d.Machine.TerminatedAt, at)
	}
	if err := a.held(ctx); err != nil { // another one may have found its machine
		return fmt.Errorf("gone: not the leader any more: %w", err)
	}
	return a.database(ctx, "gone", func(ctx context.Context) error {
		back, err := a.Rows.Gone(ctx, d.WorkerID, at)
		if err == nil && len(back) > 0 {
			d.Outcome = fmt.Sprintf("%s; %d jobs are queued again", OutcomeDone, len(back))
		}
		return err
	})
}

// sweep deletes a disk.
func (a *acting) sweep(ctx context.Context, lane string, d *Decision) error {
	return a.end(ctx, lane, d.Provider, "sweep", func(ctx context.Context, p Provider) error { return p.RemoveDisk(ctx, d.MachineID) })
}

func (a *acting) alert(ctx context.Context, d *Decision) error {
	if d.Alert == nil {
		return errors.New("alert: no notice is given")
	}
	if err := errors.Join(a.halted(noticeLane), a.late()); err != nil {
		return err
	}
	n := *d.Alert
	if n.Decision == "" {
		n.Decision = d.ID
	}
	_, err := bounded(ctx, a.calls, "notifier", notifyTime, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, a.Notifier.Notify(ctx, n)
	})
	if errors.Is(err, context.DeadlineExceeded) {
		a.halt(noticeLane, "a channel does not answer")
	}
	return err
}
