package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/process"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/notify"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/postgres"
	"github.com/spillway-media/spillway/store/sqlite"
)

// errNoFleet is a store that has no tables for a scheduler.
var errNoFleet = errors.New("this database has no tables for a scheduler")

// tablesOf are the scheduler's of a store.
func tablesOf(store jobs.Store) (fleet.Store, error) {
	switch store := store.(type) {
	case *sqlite.Store:
		return store.Fleet(), nil
	case *postgres.Store:
		return store.Fleet(), nil
	}
	return nil, errNoFleet
}

// planner is a scheduler with the providers that it works with.
type planner struct {
	*fleet.Scheduler
	// local are the worker processes of this machine; nil where there can be none.
	local *process.Provider
}

// stats are none of a planner that is not there yet.
func (p *planner) stats() (s fleet.Stats, there bool) {
	if p == nil {
		return s, false
	}
	return p.Stats(), true
}

// newPlanner puts a scheduler together. It starts nothing.
func newPlanner(cfg settings.Config, tables fleet.Store, b bell, file *schedulerFile, log *slog.Logger) (*planner, error) {
	p := &planner{}
	providers := map[string]fleet.Provider{}
	if file.file != nil && runtime.GOOS == "linux" { // without a file there is no provider
		local, err := newLocalMachines(cfg, file)
		if err != nil {
			return nil, err
		}
		p.local, providers[process.Name] = local, local
	}
	file.demand(providers)
	depths, _ := b.(fleet.Depths) // nil without a Redis
	var err error
	p.Scheduler, err = fleet.New(fleet.Parts{
		Demand: tables, Depths: depths, Rows: tables, Drains: tables, Ledger: tables, Elector: tables,
		Providers: providers, Notifier: notify.NewAlerts(file.Channels, log), Config: file.Config, Refused: file.Refused, Clock: time.Now, Log: log,
	})
	return p, err
}

// run decides and acts until ctx ends and the round that it is in is over.
func (p *planner) run(ctx context.Context, file *schedulerFile, log *slog.Logger) error {
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	if p.local != nil {
		wait.Go(func() { _ = p.local.Run(watching) }) // it only ends with the context
	}
	cfg := file.Config()
	log.Info("scheduling", "mode", string(cfg.Mode), "policy", string(cfg.Policy), "every", cfg.EvaluationInterval.String())
	if err := p.Run(ctx); err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	return nil
}

// newLocalMachines starts workers as processes of this machine, by the program
// itself and with what this process was told.
func newLocalMachines(c settings.Config, file *schedulerFile) (*process.Provider, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return process.New(process.Config{
		Dir: filepath.Join(c.Data, "machines"), Program: program, Args: []string{"work"},
		Env:   workerEnvironment(settings.Environment(), c),
		Slots: file.Config().Providers[process.Name].Slots, Clock: time.Now,
	})
}

// notOfWorkers are settings that a worker is not started with: those of
// servers and of schedulers, those by which workers are told apart, and secrets
// that are no concern of theirs.
var notOfWorkers = []string{
	"listen", "admin-listen", "tls-cert", "tls-key", "scheduler-config", "api-token", "api-token-file", "webhook-key",
	"queues", "max", "reserve", "worker-id", "worker-provider", "worker-region", "worker-instance-type", "worker-market",
}

// workerEnvironment is what a worker process is started with: all that this
// process was told by flags, file and environment, in variables, because a
// command line is there for every user of the machine to see.
func workerEnvironment(environ []string, c settings.Config) []string {
	own := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool { return strings.HasPrefix(entry, "SPILLWAY_") })
	for _, s := range settings.All() {
		if !slices.Contains(notOfWorkers, s.Key) {
			own = append(own, s.Env()+"="+s.Text(c))
		}
	}
	if c.File != "" { // which has the presets
		own = append(own, "SPILLWAY_CONFIG="+c.File)
	}
	return own
}
