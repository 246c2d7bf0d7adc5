package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/jobs"
)

// Fleet is the scheduler and what it has left behind, for one command of the
// shell. Only who may read the settings and the database gets here: there is no
// API for any of it that changes something.
type Fleet struct {
	cfg    settings.Config
	log    *slog.Logger
	store  jobs.Store
	tables fleet.Store
	bell   bell
	file   *schedulerFile // nil before somebody needs it: a bad one does not hinder a reset
}

// OpenFleet opens the database of the settings itself.
func OpenFleet(ctx context.Context, cfg settings.Config, log *slog.Logger) (*Fleet, error) {
	store, err := storeOpener(cfg, log)(ctx)
	if err != nil {
		return nil, fmt.Errorf("open database of jobs: %w", err)
	}
	tables, err := tablesOf(store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	rung, err := openBell(ctx, cfg, log)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &Fleet{cfg: cfg, log: log, store: store, tables: tables, bell: rung}, nil
}

// Close closes the database.
func (f *Fleet) Close() error { return errors.Join(f.bell.Close(), f.store.Close()) }

// Decision is one that was recorded.
func (f *Fleet) Decision(ctx context.Context, id string) (fleet.Decision, error) {
	d, err := f.tables.Decision(ctx, id)
	if err != nil {
		return fleet.Decision{}, fmt.Errorf("decision %s: %w", id, err)
	}
	return d, nil
}

// mostListed is how many decisions a store lists at once.
const mostListed = 200

// Decisions lists up to limit of those that were recorded, newest first.
func (f *Fleet) Decisions(ctx context.Context, filter fleet.DecisionFilter, limit int) (all []fleet.Decision, err error) {
	for len(all) < limit {
		filter.Limit = min(limit-len(all), mostListed)
		page, err := f.tables.Decisions(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("list decisions: %w", err)
		}
		all = append(all, page...)
		if len(page) < filter.Limit {
			break
		}
		filter.Before = page[len(page)-1].ID
	}
	return all, nil
}

// Usage is whose jobs the machines' time went into since a while ago.
func (f *Fleet) Usage(ctx context.Context, last time.Duration) ([]fleet.Usage, error) {
	now := time.Now()
	usage, err := f.tables.Usage(ctx, now.Add(-last), now)
	return usage, wrapped("share out machine time", err)
}

// Reset clears a daily limit that has tripped, writes down that somebody did,
// and answers what had tripped; nil when nothing had. What was spent that day
// stays spent.
func (f *Fleet) Reset(ctx context.Context) (*fleet.Latch, error) {
	latch, err := f.tables.Reset(ctx)
	if err != nil || latch == nil {
		return nil, wrapped("reset", err)
	}
	return latch, wrapped("write down the reset", byHand(ctx, f.tables, fleet.Decision{
		Kind: fleet.KindReset, Latch: latch,
		Sentence: fmt.Sprintf("An operator has reset the daily limit, which had tripped at %s of %s", latch.Spent, latch.Limit),
	}))
}

// byHand writes down what an operator has done without the scheduler.
func byHand(ctx context.Context, tables fleet.Ledger, d fleet.Decision) error {
	d.At = time.Now()
	d.ID = fleet.RequestID(d.At)
	d.Tick, d.Origin, d.Rule, d.Outcome = d.ID, fleet.OriginManual, "manual", fleet.OutcomeDone
	return tables.Record(ctx, fleet.Record{Decisions: []fleet.Decision{d}})
}

func wrapped(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Once does one round; fleet.ErrNotLeader while another scheduler is the one that acts.
func (f *Fleet) Once(ctx context.Context) (fleet.Report, error) {
	planner, err := f.planner()
	if err != nil {
		return fleet.Report{}, err
	}
	return planner.Once(ctx)
}

// DryRun plans one round and changes nothing.
func (f *Fleet) DryRun(ctx context.Context) (fleet.Report, error) {
	planner, err := f.planner()
	if err != nil {
		return fleet.Report{}, err
	}
	return planner.DryRun(ctx)
}

// settings reads the scheduler's file, once.
func (f *Fleet) settings() (cfg fleet.Config, err error) {
	if f.file == nil {
		if f.file, err = openSchedulerFile(f.cfg, f.log); err != nil {
			return fleet.Config{}, err
		}
	}
	return f.file.Config(), nil
}

func (f *Fleet) planner() (*planner, error) {
	if _, err := f.settings(); err != nil {
		return nil, err
	}
	return newPlanner(f.cfg, f.tables, f.bell, f.file, f.log)
}
