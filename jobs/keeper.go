package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// KeeperConfig sets the maintenance of jobs; zero values take the default in
// brackets.
type KeeperConfig struct {
	Promote   time.Duration // how often delayed jobs are looked for (1 s)
	Rescue    time.Duration // how often lost leases and used up waits are (5 s)
	Reconcile time.Duration // how often depths are set right (10 s)
	// Ageing lowers the rank of jobs of priority 4 to 10 by one each time they
	// have waited so long; 0 leaves ranks alone.
	Ageing time.Duration
	// Retention is how long finished jobs are kept (succeeded and cancelled 3 days,
	// failed 14).
	Retention Retention
	// Queues are set right even if they never had a job here.
	Queues []string
}

// What a Keeper does not let anybody set.
const (
	electEvery  = 5 * time.Second // how soon another process takes over
	tidyEvery   = time.Minute     // ageing, pruning, burying
	buryAfter   = 10 * time.Minute
	stepTime    = 30 * time.Second // a hanging store is a failing one
	longestRest = 15 * time.Second // after failures, unless the interval is longer
	election    = "reconciler"

	day = 24 * time.Hour
)

// Validate reports every field out of range.
func (c KeeperConfig) Validate() error {
	var errs []error
	for _, d := range []struct {
		name        string
		value       time.Duration
		least, most time.Duration
	}{
		{"promote interval", c.Promote, 10 * time.Millisecond, time.Minute},
		{"rescue interval", c.Rescue, 10 * time.Millisecond, time.Minute},
		{"reconcile interval", c.Reconcile, 10 * time.Millisecond, 10 * time.Minute},
		{"ageing", c.Ageing, time.Second, 30 * day},
		{"retention of succeeded jobs", c.Retention.Succeeded, time.Minute, 3650 * day},
		{"retention of failed jobs", c.Retention.Failed, time.Minute, 3650 * day},
		{"retention of cancelled jobs", c.Retention.Cancelled, time.Minute, 3650 * day},
	} {
		if d.value != 0 && (d.value < d.least || d.value > d.most) {
			errs = append(errs, fmt.Errorf("%s: %v is neither 0 nor within %v to %v", d.name, d.value, d.least, d.most))
		}
	}
	return errors.Join(errs...)
}

func (c KeeperConfig) withDefaults() KeeperConfig {
	for _, d := range []struct {
		value *time.Duration
		or    time.Duration
	}{
		{&c.Promote, time.Second}, {&c.Rescue, 5 * time.Second}, {&c.Reconcile, 10 * time.Second},
		{&c.Retention.Succeeded, 3 * day}, {&c.Retention.Failed, 14 * day}, {&c.Retention.Cancelled, 3 * day},
	} {
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	return c
}

// KeeperStore is what a Keeper needs of a store.
type KeeperStore interface {
	RescueStore
	KeepStore
	QueryStore
	Elector
}

// Keeper looks after the jobs of a store: it rescues what died, makes ready what
// was delayed, and tidies up. Every process with a store runs one; they need
// not know of each other. What is enough to be done once is done by the one
// that is elected.
type Keeper struct {
	// Immutable.
	cfg   KeeperConfig
	store KeeperStore
	bell  Doorbell
	log   *slog.Logger
	roles []*role // all of them, for Stats

	rescue, promote, giveUp       *role // of every process
	elect                         *role
	reconcile, prune, bury, aging *role // of the elected one

	known map[string]int // owned by the reconcile role: see depths

	elected                              atomic.Bool
	rescued, poisoned, promoted, givenUp atomic.Uint64
	aged, pruned, buried                 atomic.Uint64
}

// NewKeeper starts nothing.
func NewKeeper(cfg KeeperConfig, store KeeperStore, bell Doorbell, log *slog.Logger) (*Keeper, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure keeper: %w", err)
	}
	cfg = cfg.withDefaults()
	k := &Keeper{cfg: cfg, store: store, bell: bell, log: log, known: map[string]int{}}
	add := func(name string, every time.Duration, step func(context.Context) error) *role {
		r := &role{name: name, every: every, step: step, longest: max(every, longestRest), log: log}
		k.roles = append(k.roles, r)
		return r
	}
	k.rescue = add("rescue", cfg.Rescue, k.rescueLost)
	k.promote = add("promote", cfg.Promote, k.promoteDelayed)
	k.giveUp = add("give-up", cfg.Rescue, k.giveUpWaiting)
	k.elect = add("elect", electEvery, k.lead)
	k.reconcile = add("reconcile", cfg.Reconcile, k.repairDepths)
	k.reconcile.longest = cfg.Reconcile * 3 / 2 // depths are right within two intervals
	k.prune = add("prune", tidyEvery, k.pruneFinished)
	k.bury = add("bury", tidyEvery, k.burySilent)
	k.aging = add("age", tidyEvery, k.ageWaiting)
	return k, nil
}

// Run works until ctx ends and returns when every loop has. No fault of the
// store or the bell ends it.
func (k *Keeper) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	for _, r := range []*role{k.rescue, k.promote, k.giveUp, k.elect} {
		loops.Go(func() { r.run(ctx) })
	}
	loops.Wait()
	return nil
}

// KeeperStats counts what a Keeper has done.
type KeeperStats struct {
	Elected  bool   // this process reconciles and prunes
	Rescued  uint64 // jobs whose worker was lost, poisoned ones apart
	Poisoned uint64
	Promoted uint64
	GivenUp  uint64
	Aged     uint64
	Pruned   uint64
	Buried   uint64
	Roles    []RoleStats
}

// Stats is a snapshot.
func (k *Keeper) Stats() KeeperStats {
	s := KeeperStats{
		Elected: k.elected.Load(), Rescued: k.rescued.Load(), Poisoned: k.poisoned.Load(),
		Promoted: k.promoted.Load(), GivenUp: k.givenUp.Load(), Aged: k.aged.Load(), Pruned: k.pruned.Load(),
		Buried: k.buried.Load(),
	}
	for _, r := range k.roles {
		s.Roles = append(s.Roles, r.stats())
	}
	return s
}
