package fleet

import (
	"context"
	"log/slog"
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
	Clock  func() time.Time
	Log    *slog.Logger
	// Failpoint is called with the name of each step of launching and ending,
	// before it; tests die there. nil in production.
	Failpoint func(step string)
}

// Scheduler is the loop: observe, decide, act, record.
type Scheduler struct{ Parts }

// New makes one; Run starts it.
func New(p Parts) (*Scheduler, error) { return &Scheduler{p}, nil }

// Run ticks whenever it is the elected one, until ctx ends.
func (s *Scheduler) Run(ctx context.Context) error { return nil }

// Report is one tick.
type Report struct {
	Tick      string     `json:"tick"`
	At        time.Time  `json:"at"`
	Snapshot  Snapshot   `json:"-"`
	Decisions []Decision `json:"decisions"`
}

// Tick does one round now, without election: see Once.
func (s *Scheduler) Tick(ctx context.Context) (Report, error) { return Report{}, nil }

// DryRun observes and decides, and changes nothing.
func (s *Scheduler) DryRun(ctx context.Context) (Report, error) { return Report{}, nil }
