package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Parts are what a Scheduler works with.
type Parts struct {
	Demand    Demand
	Depths    Depths // nil: there is no Redis, and the database is asked
	Rows      Rows
	Drains    Drains
	Ledger    Ledger
	Providers map[string]Provider
	Notifier  Notifier
	Elector   Elector
	// Config is asked once a tick, so that a reload counts from the next.
	Config func() Config
	// Refused says why the file as it stands is not in force; nil asks nobody.
	Refused func() error
	Clock   func() time.Time
	Log     *slog.Logger
	// Failpoint is called with the name of each step of launching and ending,
	// before it; tests die there. nil in production.
	Failpoint func(step string)
}

// Scheduler is the loop: observe, decide, act, record.
type Scheduler struct {
	Parts
	calls *calls
	tally tally // guards itself
	// What it keeps between ticks. Owned by the goroutine that ticks.
	last     *observed       // the latest that the database has told; nil before
	offers   []Offer         // the latest of each place
	latch    *Latch          // tripped while the database was away
	memory   *Memory         // remembered, and not recorded; nil when it is
	base     Memory          // what was recorded when memory was made
	unsaved  []Decision      // the same of decisions
	answered map[string]bool // the same of requests
	listed   map[string]bool // providers listed since this became the leader
	said     map[string]string
	looked   time.Time // when providers that are switched off were last listed
}

// ErrNotLeader is what Once answers while another scheduler is the one that acts.
var ErrNotLeader = errors.New("another scheduler is acting")

// New makes one; Run starts it.
func New(p Parts) (*Scheduler, error) {
	missing := []string{}
	for name, is := range map[string]bool{
		"Demand": p.Demand == nil, "Rows": p.Rows == nil, "Drains": p.Drains == nil, "Ledger": p.Ledger == nil,
		"Notifier": p.Notifier == nil, "Elector": p.Elector == nil, "Config": p.Config == nil, "Clock": p.Clock == nil, "Log": p.Log == nil,
	} {
		if is {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, fmt.Errorf("make scheduler: it needs %s", strings.Join(missing, ", "))
	}
	if p.Failpoint == nil {
		p.Failpoint = func(string) {}
	}
	if p.Refused == nil {
		p.Refused = func() error { return nil }
	}
	return &Scheduler{
		Parts: p, calls: newCalls(), answered: map[string]bool{}, listed: map[string]bool{}, said: map[string]string{},
	}, nil
}

// Report is one tick.
type Report struct {
	Tick      string     `json:"tick"`
	At        time.Time  `json:"at"`
	Snapshot  Snapshot   `json:"-"`
	Decisions []Decision `json:"decisions"`
}

// Tick does one round now, without election: see Once. What could not be
// observed or done is in the decisions; the error is about what could not be
// recorded, which is recorded with a later tick.
func (s *Scheduler) Tick(ctx context.Context) (Report, error) {
	return s.tick(ctx, func(context.Context) error { return nil })
}

// tick asks held before anything is launched, or remembered.
func (s *Scheduler) tick(ctx context.Context, held func(context.Context) error) (Report, error) {
	cfg, began := s.Config(), s.Clock()
	o := s.observe(ctx, cfg, true)
	if err := context.Cause(ctx); err != nil { // what could not be seen by now says nothing
		return Report{}, fmt.Errorf("break off a tick: %w", err)
	}
	r := s.decide(cfg, o)
	s.act(ctx, cfg, o, r.Decisions, held)
	s.tell(r)
	err := s.record(ctx, cfg, o, r, held)
	s.tally.count(began, s.Clock(), cfg, r, err == nil)
	if err != nil {
		return r, fmt.Errorf("record tick %s: %w", r.Tick, err)
	}
	return r, nil
}

// DryRun observes and decides, and changes nothing. Enabled providers that the
// program does not have are taken at the prices of the file.
func (s *Scheduler) DryRun(ctx context.Context) (Report, error) {
	cfg := s.Config()
	o := s.observe(ctx, cfg, false)
	r := s.decide(cfg, o)
	for i := range r.Decisions {
		r.Decisions[i].Outcome = OutcomeDryRun
	}
	if f := o.snap.Fault(sourceDatabase); f != nil {
		return r, fmt.Errorf("observe for a dry run: %s", f.Reason)
	}
	return r, nil
}

// decide gives the decisions their names.
func (s *Scheduler) decide(cfg Config, o *observed) Report {
	at := o.snap.At
	r := Report{Tick: name(at), At: at, Snapshot: o.snap, Decisions: Decide(at, cfg, o.snap)}
	for i := range r.Decisions {
		d := &r.Decisions[i]
		d.Tick = r.Tick
		if d.ID == "" { // those of a request have the same in every tick
			d.ID = fmt.Sprintf("%s-%02d", r.Tick, i+1)
		}
		if d.Kind == KindLaunch {
			d.WorkerID = workerOf(d.ID)
		}
	}
	return r
}

// name is that of a tick or a request: when, so that they sort, and four random
// letters, so that no two schedulers use the same.
func name(at time.Time) string {
	return at.UTC().Format("20060102-150405") + "-" + strings.ToLower(rand.Text()[:4])
}

// RequestID names a new request.
func RequestID(now time.Time) string { return "r" + name(now) }

// launchOf names the nth launch of a request the same in every tick, so that one
// that was begun before a crash is found in the workers table.
func launchOf(request string, n int) string { return fmt.Sprintf("%s-%02d", request, n) }

// workerOf is the worker that a launch starts.
func workerOf(decision string) string { return "w-" + decision }
