package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spillway-media/spillway/elastic"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/derive"
	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/internal/machine"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/jobs"
)

// allJobs is more pictures at once than there are.
const allJobs = 1024

// jobsDefaults gives Up a database in its data folder when it is told of none,
// and lets Work use all of its machine.
func jobsDefaults(c settings.Config, role Role) settings.Config {
	if role == Work && c.BackgroundJobs == 0 {
		c.BackgroundJobs = allJobs
	}
	if role == Up && c.Database == "" {
		c.Database = c.OwnDatabase()
	}
	return c
}

// originals opens what requests and jobs may name.
func (p *program) originals() source.Opener {
	if p.backlog == nil {
		return p.sources
	}
	return derive.NewUploads(p.backlog.blobs, p.cfg.SpoolDir).Opener(p.sources, int64(p.cfg.MaxSourceBytes))
}

// staffBacklog gives the backlog what the role has besides keeping it in order.
func (p *program) staffBacklog(ctx context.Context, facts machine.Facts) (err error) {
	if p.backlog == nil {
		return nil
	}
	if p.role != Work {
		if err := p.backlog.addHooks(); err != nil {
			return err
		}
	}
	if p.role == Serve {
		return nil
	}
	for _, queue := range p.cfg.WorkedOn() {
		if near := misspelt(queue); near != "" {
			p.log.Warn("odd queue", "queue", queue, "reason", "jobs go there only when they say so; there is a queue "+near)
		}
	}
	if p.role == Up {
		if err := p.backlog.addScheduler(); err != nil {
			return err
		}
	}
	p.backlog.worker, err = p.newWorker(ctx, facts)
	if p.role == Work {
		p.ready.idle = p.backlog.idle
	}
	return err
}

// misspelt is the queue that was probably meant by the name of another; empty
// for a queue that types of jobs have, and for a name that is like none.
func misspelt(queue string) string {
	usual := settings.Working{}.WorkedOn()
	if slices.Contains(usual, queue) {
		return ""
	}
	return media.Nearest(queue, usual)
}

// warmer is how bulk jobs fill the cache of the image server: that at cache-url,
// else this process, if it is one that keeps what it makes. nil is none.
func (p *program) warmer(ctx context.Context) (derive.Warmer, error) {
	c := p.cfg
	switch {
	case c.CacheURL == "" && (p.role == Work || c.CacheMemory == 0 && c.CacheDisk == 0):
		return nil, nil
	case c.CacheURL == "":
		return derive.NewLocalWarmer(p.service), nil
	}
	// Its address is the operator's, who may well have it in a private network.
	only := sourceConfig(c)
	only.Root, only.Allow, only.AllowPrivate = "", []string{strings.TrimSuffix(c.CacheURL, "/") + "/"}, true
	open, err := source.New(ctx, only, p.log)
	if err != nil {
		return nil, fmt.Errorf("cache-url: %w", err)
	}
	p.warming = open
	keys, err := c.Keys()
	if err != nil || len(keys) == 0 {
		return derive.NewRemoteWarmer(c.CacheURL, open, nil), err
	}
	sign := func(target string) string { return httpapi.SignURL(keys[0], target) }
	return derive.NewRemoteWarmer(c.CacheURL, open, sign), nil
}

// newWorker makes the worker of this process. Its gate is its own: a job that
// computes asks the service for its turn besides, as requests do.
func (p *program) newWorker(ctx context.Context, facts machine.Facts) (*jobs.Worker, error) {
	warmer, err := p.warmer(ctx)
	if err != nil {
		return nil, err
	}
	memory := facts.Memory
	if memory == 0 {
		memory = assumedMemory
	}
	gate, err := elastic.NewGate(elastic.GateConfig{Slots: facts.Cores(), Memory: p.cfg.MemoryBudget.Of(memory)})
	if err != nil {
		return nil, err
	}
	c := p.cfg
	slots, reserve := p.slots(gate.Stats().Slots)
	drain := c.JobDrainTimeout
	if drain == 0 {
		drain = -1 // zero is the other package's word for its default
	}
	worker, err := jobs.NewWorker(jobs.WorkerConfig{
		Row: jobs.WorkerRow{
			ID: c.WorkerID, Provider: c.WorkerProvider, Region: c.WorkerRegion, InstanceType: c.WorkerInstanceType,
			Market: jobs.Market(c.WorkerMarket), Queues: c.WorkedOn(), Version: ReadBuild().Version,
		},
		Handlers: derive.Handlers(derive.Config{
			Limits: c.Media(), Images: p.service, Blobs: p.backlog.blobs, Lister: p.sources,
			Warmer: warmer, TempDir: c.SpoolDir, Log: p.log,
		}),
		Slots: slots, Reserve: reserve, Lease: c.Lease, DrainTimeout: drain, Gate: gate, Machine: machineUse(facts),
	}, p.backlog.store, p.backlog.bell, p.log)
	if err != nil {
		return nil, fmt.Errorf("make worker: %w", err)
	}
	return worker, nil
}

// slots is how many jobs the worker holds at once, and how many of them are kept
// for a queue: as the settings say, or in a process that schedules as its file
// does with baseline_workers. Where nothing says how many slots there are, there
// is one more than are kept at least.
func (p *program) slots(cores int) (slots int, reserve map[string]int) {
	reserve = p.cfg.Reserved()
	if file := p.backlog.file; len(reserve) == 0 && file != nil {
		for name, q := range file.Config().Queues {
			if q.BaselineWorkers > 0 && slices.Contains(p.cfg.WorkedOn(), name) {
				reserve[name] = q.BaselineWorkers
			}
		}
	}
	kept := 0
	for _, n := range reserve {
		kept += n
	}
	switch {
	case p.cfg.Max == 0:
		return max(2, 2*cores, kept+1), reserve
	case kept >= p.cfg.Max && len(p.cfg.Reserve) == 0:
		p.log.Warn("no slots are kept for queues", "slots", p.cfg.Max, "reason", "the scheduler's file has as many baseline_workers as max is, or more")
		return p.cfg.Max, nil
	}
	return p.cfg.Max, reserve
}

// machineUse reads what the machine is used for when the worker asks.
func machineUse(facts machine.Facts) func() jobs.WorkerMetric {
	meter := machine.NewMeter(os.DirFS("/"), facts)
	meter.Read(time.Now()) // the first tells of no time
	return func() jobs.WorkerMetric {
		use := meter.Read(time.Now())
		return jobs.WorkerMetric{CPUPercent: use.CPUPercent, MemoryBytes: use.Memory, MemoryLimit: use.Limit}
	}
}

// errNoStore is why a worker does nothing.
var errNoStore = errors.New("the database of jobs is not to be reached")

// idle is nil while the worker takes jobs.
func (b *backlog) idle() error {
	switch condition := b.worker.Stats().Condition; condition {
	case jobs.WorkerWorking:
		return nil
	case jobs.WorkerStoreAway:
		return errNoStore
	default:
		return fmt.Errorf("the worker is %s", condition)
	}
}
