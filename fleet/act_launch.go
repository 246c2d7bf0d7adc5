package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// reserve books a launch at its first candidate, which the decision has held
// against all limits.
func (a *acting) reserve(d *Decision) {
	if d.Launch != nil && len(d.Launch.Candidates) > 0 {
		a.booked[d.WorkerID] = a.row(d, d.Launch.Candidates[0])
	}
}

// row is what the workers table will hold of a candidate's machine.
func (a *acting) row(d *Decision, c Candidate) Worker {
	l := d.Launch
	w := Worker{
		ID: d.WorkerID, Place: c.Place, Queues: l.Queues, Slots: slotsOf(l, c), Status: Provisioning, ProvisionedAt: a.o.snap.At,
		Origin: d.Origin, Rate: c.Price + c.Surcharge, Ceiling: c.Rate(), Granularity: c.Granularity, MaxRank: d.MaxRank,
		Request: a.request(d, c, ""),
	}
	if l.KeepFor > 0 {
		w.KeepUntil = a.now().Add(l.KeepFor)
	}
	return w
}

func slotsOf(l *Launch, c Candidate) int {
	if l.Slots > 0 {
		return l.Slots
	}
	return c.Slots
}

func (a *acting) request(d *Decision, c Candidate, token string) LaunchRequest {
	l := d.Launch
	return LaunchRequest{
		Candidate: c, Token: token, FleetID: a.o.snap.FleetID, WorkerID: d.WorkerID, Queues: l.Queues,
		Slots: slotsOf(l, c), Reserve: l.Reserve, MaxLife: l.MaxLife,
	}
}

// errUnanswered is a launch that may have made a machine: its row stays, counts,
// and is set right by the inventory.
var errUnanswered = errors.New("whether there is a machine is not known; the inventory will tell")

// launch makes a row, then a machine: from the first candidate that is neither
// out of capacity nor, by now, over a limit. Row first, so that there is none
// that costs and that nobody knows.
func (a *acting) launch(ctx context.Context, d *Decision) error {
	if d.Launch == nil || len(d.Launch.Candidates) == 0 {
		return errors.New("launch: no candidates are given")
	}
	if err := a.late(); err != nil {
		a.release(d)
		return err
	}
	if err := a.held(ctx); err != nil {
		return fmt.Errorf("launch: not the leader any more: %w", err)
	}
	provisioned := false
	for i, c := range d.Launch.Candidates {
		if reason := a.rebook(d, c); reason != "" {
			d.Rejected = append(d.Rejected, Rejected{What: c.String(), Reason: reason})
			continue
		}
		if err := a.prepare(ctx, d, c, provisioned); err != nil {
			a.release(d)
			return err
		}
		provisioned = true
		next, err := a.try(ctx, d, c, i)
		if !next {
			return err
		}
	}
	a.release(d)
	if provisioned { // every answer was a plain no
		if err := a.gone(ctx, d); err != nil {
			return err
		}
	}
	return errors.New("no candidate could be had")
}

// prepare writes the row for a candidate.
func (a *acting) prepare(ctx context.Context, d *Decision, c Candidate, provisioned bool) error {
	if provisioned {
		return a.database(ctx, "move", func(ctx context.Context) error {
			return a.Rows.Attach(ctx, d.WorkerID, Machine{Place: c.Place, WorkerID: d.WorkerID}, c.Offer)
		})
	}
	return a.database(ctx, "provision", func(ctx context.Context) error { return a.Rows.Provision(ctx, a.row(d, c)) })
}

// rebook puts a launch down for a candidate, unless that place has failed in this
// tick already, or a limit is in the way by now.
func (a *acting) rebook(d *Decision, c Candidate) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, place := range []Place{c.Place, {Provider: c.Provider}} {
		if reason, is := a.closed[place]; is {
			return reason
		}
	}
	if was, is := a.booked[d.WorkerID]; is && was.Place == c.Place {
		return "" // the decision has held it against the limits
	}
	snap := a.o.snap
	snap.Workers = slices.Clone(snap.Workers)
	for id, w := range a.booked {
		if id != d.WorkerID {
			snap.Workers = append(snap.Workers, w)
		}
	}
	if limit := Refuses(snap.At, a.cfg, snap, c.Offer); limit != "" {
		return limit
	}
	a.booked[d.WorkerID] = a.row(d, c)
	return ""
}

// release takes a launch off the books that made no machine.
func (a *acting) release(d *Decision) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.booked, d.WorkerID)
}

// close keeps a place from being tried again in this tick.
func (a *acting) close(p Place, reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed[p] = reason
}

// attempts is how often one candidate is asked, each time with another token,
// when the answer is a machine that has ended already.
const attempts = 2

// try asks for a candidate's machine. next is true after a plain no.
func (a *acting) try(ctx context.Context, d *Decision, c Candidate, i int) (next bool, err error) {
	p := a.Providers[c.Provider]
	if p == nil {
		return true, nil
	}
	for n := range attempts {
		token := fmt.Sprintf("%s-%d-%d", d.ID, n+1, i+1)
		a.Failpoint("launch")
		if err := a.held(ctx); err != nil { // this process may have been stopped since the row was written
			return false, fmt.Errorf("launch: not the leader any more: %w", err)
		}
		m, err := bounded(ctx, a.calls, "launch at "+c.Provider, launchTime, func(ctx context.Context) (Machine, error) {
			return p.Launch(ctx, a.request(d, c, token))
		})
		at := Attempt{Place: c.Place, Token: token, Outcome: OutcomeDone}
		if err != nil {
			at.Outcome, at.Reason, at.After = string(OutcomeOf(err)), reasonOf(err), afterOf(err)
		} else if m.State == MachineTerminated {
			at.Outcome, at.Reason = string(Unknown), "the machine had ended already"
		}
		d.Attempts = append(d.Attempts, at)
		if err != nil {
			return a.refused(c, err)
		}
		if m.State != MachineTerminated {
			return false, a.attach(ctx, d, c, m)
		}
	}
	return true, nil
}

// afterOf is when a provider wants to be asked again; 0 it did not say.
func afterOf(err error) time.Duration {
	if e, ok := errors.AsType[*ProviderError](err); ok {
		return e.After
	}
	return 0
}

// refused draws the conclusions of a launch that failed.
func (a *acting) refused(c Candidate, err error) (next bool, _ error) {
	reason := fmt.Sprintf("it has just answered %s", OutcomeOf(err))
	switch OutcomeOf(err) {
	case NoCapacity:
		a.close(c.Place, reason)
		return true, nil
	case OverQuota, Throttled, Permanent:
		a.close(Place{Provider: c.Provider}, reason)
		return true, nil
	case Unknown, NotFound:
	}
	if errors.Is(err, context.DeadlineExceeded) {
		a.close(Place{Provider: c.Provider}, "it does not answer")
	}
	return false, fmt.Errorf("launch at %s: %w: %w", c.Place, errUnanswered, err)
}

// attach writes the machine into its row. One that came in another market than
// was asked for, as a bid under the price once did, has a price that no limit
// has seen: it is ended at once.
func (a *acting) attach(ctx context.Context, d *Decision, c Candidate, m Machine) error {
	m.Provider, m.WorkerID = c.Provider, d.WorkerID
	d.Provider, d.MachineID, d.Machine = c.Provider, m.ID, &m
	o := c.Offer
	if m.Market != c.Market {
		o = a.offerOf(m.Place, Worker{})
	} else {
		m.Place = c.Place
	}
	err := a.database(ctx, "attach", func(ctx context.Context) error { return a.Rows.Attach(ctx, d.WorkerID, m, o) })
	if errors.Is(err, ErrState) || errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%s came too late, its row has ended, and so does it: %w", m.ID, err)
		return errors.Join(err, a.endMachine(ctx, c.Provider, "", c.Provider, m.ID))
	}
	if err != nil {
		return fmt.Errorf("%s is running, and the next tick adopts it: %w", m.ID, err)
	}
	if m.Market != c.Market {
		err := a.endMachine(ctx, c.Provider, d.WorkerID, c.Provider, m.ID)
		return errors.Join(fmt.Errorf("%s came as %s, not %s, and is ended", m.ID, m.Market, c.Market), err)
	}
	return nil
}
