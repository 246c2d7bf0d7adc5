package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// FleetStatus is how things stand with the scheduler.
type FleetStatus struct {
	At time.Time `json:"at"`
	// Mode is what is in force, Configured what the file says; they differ while
	// a daily limit has tripped.
	Mode       fleet.Mode `json:"mode"`
	Configured fleet.Mode `json:"configured_mode"`
	// Acting is the mode of the latest round, by its own decisions: that of
	// another file than this one where the scheduler was given another.
	Acting   fleet.Mode       `json:"acting_mode,omitempty"`
	Policy   fleet.Policy     `json:"policy"`
	Latch    *fleet.Latch     `json:"latch,omitempty"`
	Ticked   time.Time        `json:"ticked,omitzero"` // zero: never
	Interval time.Duration    `json:"-"`
	Spend    SpendStatus      `json:"spend"`
	Queues   []QueueStatus    `json:"queues"`
	Workers  []WorkerStatus   `json:"workers"`
	CoolOffs []fleet.CoolOff  `json:"cool_offs"`
	Alerts   []AlertStatus    `json:"alerts"`
	Faults   map[string]int   `json:"faults"`
	Requests []fleet.Request  `json:"requests"`
	Recent   []fleet.Decision `json:"recent"`
}

// SpendStatus is money, in ten-thousandths of a cent.
type SpendStatus struct {
	Hour        fleet.Money `json:"hour"`
	HourlyLimit fleet.Money `json:"hourly_limit"`
	Day         fleet.Money `json:"day"`
	DailyLimit  fleet.Money `json:"daily_limit"`
	// Rate is what all machines cost an hour now, Ceiling what limits count for them.
	Rate    fleet.Money `json:"rate_an_hour"`
	Ceiling fleet.Money `json:"counted_an_hour"`
}

// QueueStatus is one queue.
type QueueStatus struct {
	Queue        string  `json:"queue"`
	Depth        int64   `json:"depth"`
	Running      int64   `json:"running"`
	Oldest       float64 `json:"oldest_seconds"`
	Workers      int     `json:"workers"` // machines, launching and draining ones included
	MaxWorkers   int     `json:"max_workers"`
	Baseline     int     `json:"baseline_workers"`
	CloudEnabled bool    `json:"cloud_enabled"`
}

// WorkerStatus is one worker.
type WorkerStatus struct {
	fleet.Place
	ID            string             `json:"id"`
	InstanceID    string             `json:"instance_id,omitempty"`
	Status        fleet.WorkerStatus `json:"status"`
	Queues        []string           `json:"queues"`
	Claimed       int                `json:"claimed"`
	Slots         int                `json:"slots"`
	Rate          fleet.Money        `json:"rate_an_hour"`
	Since         time.Time          `json:"since,omitzero"`
	DrainDeadline time.Time          `json:"drain_deadline,omitzero"`
	KeepUntil     time.Time          `json:"keep_until,omitzero"`
	Parked        bool               `json:"parked,omitempty"` // it claims nothing, and may be taken back
}

// AlertStatus is a condition that holds.
type AlertStatus struct {
	Key   string    `json:"key"`
	Since time.Time `json:"since"`
	Fired time.Time `json:"fired,omitzero"` // zero: not for long enough yet
}

// recentDecisions is how many a status shows.
const recentDecisions = 12

// Status reads how things stand. It changes nothing and asks no provider.
func (f *Fleet) Status(ctx context.Context) (FleetStatus, error) {
	cfg, err := f.settings()
	if err != nil {
		return FleetStatus{}, err
	}
	names := queueNames(cfg)
	at, queues, err := f.tables.Demand(ctx, names)
	if err != nil {
		return FleetStatus{}, fmt.Errorf("count queues: %w", err)
	}
	workers, err := f.tables.Fleet(ctx)
	if err != nil {
		return FleetStatus{}, fmt.Errorf("list workers: %w", err)
	}
	state, err := f.tables.State(ctx)
	if err != nil {
		return FleetStatus{}, fmt.Errorf("read the scheduler's state: %w", err)
	}
	recent, err := f.tables.Decisions(ctx, fleet.DecisionFilter{Limit: recentDecisions})
	if err != nil {
		return FleetStatus{}, fmt.Errorf("list decisions: %w", err)
	}
	s := FleetStatus{
		At: at, Mode: fleet.ModeOf(cfg, fleet.Snapshot{Latch: state.Latch}), Configured: cfg.Mode, Acting: actingMode(recent), Policy: cfg.Policy,
		Latch: state.Latch, Ticked: state.Ticked, Interval: cfg.EvaluationInterval,
		Queues: queueStatuses(cfg, queues, workers), Workers: workerStatuses(workers),
		CoolOffs: coolOffs(state.Memory, at), Alerts: alertStatuses(state.Memory), Faults: state.Memory.Faults,
		Requests: state.Requests, Recent: recent,
	}
	s.Spend, err = f.spend(ctx, cfg, at, workers)
	return s, err
}

// actingMode is the mode in which the latest of some decisions was taken; empty
// where none says.
func actingMode(recent []fleet.Decision) fleet.Mode {
	for _, d := range recent {
		if d.Kind == fleet.KindReset {
			return "" // rounds before it had the mode that it ended
		}
		for _, fact := range d.Inputs {
			if fact.Name == "mode" {
				return fleet.Mode(fact.Value)
			}
		}
	}
	return ""
}

func (f *Fleet) spend(ctx context.Context, cfg fleet.Config, at time.Time, workers []fleet.Worker) (SpendStatus, error) {
	s := SpendStatus{HourlyLimit: cfg.Limits.Hourly, DailyLimit: cfg.Limits.Daily}
	var err error
	if s.Hour, err = f.tables.Spent(ctx, at.Add(-time.Hour), at); err != nil {
		return s, fmt.Errorf("sum the last hour: %w", err)
	}
	if s.Day, err = f.tables.Spent(ctx, fleet.Midnight(at, cfg.Location), at); err != nil {
		return s, fmt.Errorf("sum the day: %w", err)
	}
	for _, w := range workers {
		s.Rate += w.Rate
		s.Ceiling += max(w.Rate, w.Ceiling)
	}
	return s, nil
}

func queueNames(cfg fleet.Config) []string {
	names := make([]string, 0, len(cfg.Queues))
	for name := range cfg.Queues {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func queueStatuses(cfg fleet.Config, queues []fleet.QueueState, workers []fleet.Worker) []QueueStatus {
	all := make([]QueueStatus, 0, len(queues))
	for _, q := range queues {
		c := cfg.Queues[q.Name]
		s := QueueStatus{
			Queue: q.Name, Depth: q.Depth, Running: q.Running, Oldest: q.Oldest.Seconds(),
			MaxWorkers: c.MaxWorkers, Baseline: c.BaselineWorkers, CloudEnabled: c.CloudEnabled,
		}
		for _, w := range workers {
			if w.Cloud() && w.Serves(q.Name) {
				s.Workers++
			}
		}
		all = append(all, s)
	}
	return all
}

func workerStatuses(workers []fleet.Worker) []WorkerStatus {
	all := make([]WorkerStatus, 0, len(workers))
	for _, w := range workers {
		since := w.RegisteredAt
		if since.IsZero() {
			since = w.ProvisionedAt
		}
		all = append(all, WorkerStatus{
			Place: w.Place, ID: w.ID, InstanceID: w.InstanceID, Status: w.Status, Queues: w.Queues, Claimed: w.Claimed, Slots: w.Slots,
			Rate: w.Rate, Since: since, DrainDeadline: w.DrainDeadline, KeepUntil: w.KeepUntil, Parked: w.Parked(),
		})
	}
	return all
}

// coolOffs are those that are not over.
func coolOffs(m fleet.Memory, at time.Time) []fleet.CoolOff {
	return slices.DeleteFunc(slices.Clone(m.CoolOffs), func(c fleet.CoolOff) bool { return !c.Until.After(at) })
}

// alertStatuses are the conditions that hold, the oldest first.
func alertStatuses(m fleet.Memory) []AlertStatus {
	var all []AlertStatus
	for key, c := range m.Alerts {
		if c.Clear.IsZero() {
			all = append(all, AlertStatus{Key: key, Since: c.Since, Fired: c.Fired})
		}
	}
	slices.SortFunc(all, func(a, b AlertStatus) int { return a.Since.Compare(b.Since) })
	return all
}
