package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/internal/app/fleetfile"
	"github.com/spillway-media/spillway/internal/app/settings"
)

const (
	// creditDays is how far back credits are compared with cost.
	creditDays = 30
	// creditTime bounds the question to the database.
	creditTime = 20 * time.Second
)

// SchedulerCheck is what there is to say about the scheduler's file.
type SchedulerCheck struct {
	File     string         `json:"file"`
	Mode     fleet.Mode     `json:"mode"`
	Policy   fleet.Policy   `json:"policy"`
	Warnings []fleet.Remark `json:"warnings,omitempty"`
	// Credits compare the last 30 days, when the settings name a database.
	Credits []fleet.Credit `json:"credits,omitempty"`
}

// CheckScheduler reads the file that the settings name, or the usual one where
// there is one: nil without. Faults are settings.Error, each with the file.
func CheckScheduler(ctx context.Context, c Config, now time.Time) (*SchedulerCheck, error) {
	path := cmp.Or(c.SchedulerConfig, fleetfile.Usual)
	if c.SchedulerConfig == "" {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	s, err := fleetfile.Read(path)
	if err != nil {
		return nil, schedulerFaults(err, path)
	}
	check := &SchedulerCheck{File: path, Mode: s.Mode, Policy: s.Policy, Warnings: fleet.Warnings(s.Config, nil)}
	if c.Database == "" {
		return check, nil
	}
	usage, err := usageOf(ctx, c, now)
	if err != nil {
		check.warn("credit_margin_percent", "credits are not compared with cost: %v", err)
		return check, nil
	}
	check.Credits = fleet.Credits(s.Config, usage)
	for _, credit := range check.Credits {
		if credit.Warning != "" {
			check.warn("credit_margin_percent", "%s", credit.Warning)
		}
	}
	return check, nil
}

func (s *SchedulerCheck) warn(path, format string, args ...any) {
	s.Warnings = append(s.Warnings, fleet.Remark{Path: path, Text: fmt.Sprintf(format, args...)})
}

// schedulerFaults words each fault as those of settings are.
func schedulerFaults(err error, file string) error {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = slices.Clone(joined.Unwrap())
	}
	for i, one := range all {
		fault := &settings.Error{Key: "scheduler-config", What: one.Error(), Origin: file}
		if at, ok := errors.AsType[*fleet.KeyError](one); ok && at.Path != "" {
			fault.Key, fault.What = at.Path, at.Problem
		}
		all[i] = fault
	}
	return errors.Join(all...)
}

// usageOf asks the database what the jobs of the last days cost. It makes none.
func usageOf(ctx context.Context, c Config, now time.Time) ([]fleet.Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, creditTime)
	defer cancel()
	if file := c.SQLiteFile(); file != "" {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("find database: %w", err)
		}
	}
	store, err := storeOpener(c, slog.New(slog.DiscardHandler))(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }()
	tables, err := tablesOf(store)
	if err != nil {
		return nil, err
	}
	usages, ok := tables.(fleet.Usages)
	if !ok {
		return nil, errNoFleet
	}
	return usages.Usage(ctx, now.AddDate(0, 0, -creditDays), now)
}
