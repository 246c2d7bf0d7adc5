package httpapi

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-media/spillway/internal/notify"
	"github.com/spillway-media/spillway/jobs"
)

// JobStats are where metrics of jobs are read. What is nil has none.
type JobStats struct {
	// Store is asked when metrics are collected, at most every few seconds
	// however often that is.
	Store interface {
		Queues(ctx context.Context, most int) ([]jobs.QueueStats, error)
		Workers(ctx context.Context, all bool) ([]jobs.WorkerRow, error)
	}
	Bell     func() jobs.BellStats
	Keeper   func() jobs.KeeperStats
	Worker   func() jobs.WorkerStats
	Webhooks func() notify.Stats
}

const (
	// countedFor is how long what the store said is told again.
	countedFor = 5 * time.Second
	// countPatience is how long a scrape waits for the store.
	countPatience = 2 * time.Second
)

// jobReading is one moment of jobs.
type jobReading struct {
	queues  []jobs.QueueStats
	workers []jobs.WorkerRow
	err     error
}

// jobFigures reads the parts whenever it is collected.
type jobFigures struct {
	from  JobStats
	now   func() time.Time
	descs map[string]*prometheus.Desc // filled by newJobFigures

	mu   sync.Mutex // held while the store is asked: one scrape at a time
	last jobReading // guarded by mu
	at   time.Time  // guarded by mu
}

// jobDescs are the metrics with their labels.
var jobDescs = map[string][]string{
	"spillway_jobs_store_up":                    {"1 when the store of jobs answered the latest question."},
	"spillway_queue_depth":                      {"Jobs that could begin now, by queue; counted up to 10,000.", "queue"},
	"spillway_queue_delayed":                    {"Jobs that wait for their time, by queue; counted up to 10,000.", "queue"},
	"spillway_queue_running":                    {"Jobs that a worker has, by queue.", "queue"},
	"spillway_queue_oldest_seconds":             {"How long the first of the jobs that could begin has waited, by queue.", "queue"},
	"spillway_queue_oldest_interactive_seconds": {"The same of priorities 1 to 3.", "queue"},
	"spillway_workers":                          {"Workers, by status; stale ones have not been heard of for 2 minutes.", "status"},
	"spillway_bell_up":                          {"1 while the doorbell's server answers; workers poll without it."},
	"spillway_bell_rings_total":                 {"Rings for jobs that became ready."},
	"spillway_bell_failures_total":              {"Calls to the doorbell that failed."},
	"spillway_bell_repairs_total":               {"Depths of the doorbell that were set right."},
	"spillway_bell_drift_total":                 {"By how many jobs those were wrong together."},
	"spillway_keeper_elected":                   {"1 in the process that reconciles and prunes."},
	"spillway_keeper_jobs_total":                {"Jobs that this process has seen to, by what was done.", "what"},
	"spillway_keeper_buried_total":              {"Workers that were found gone."},
	"spillway_keeper_failures_total":            {"Runs of a maintenance role that failed.", "role"},
	"spillway_worker_slots":                     {"Jobs that this process may have at once."},
	"spillway_worker_jobs":                      {"Jobs that this process has, by state.", "state"},
	"spillway_worker_stuck":                     {"Handlers that have not returned although they were given up."},
	"spillway_worker_attempts_total":            {"Attempts of this process that ended, by outcome.", "outcome"},
	"spillway_worker_fenced_total":              {"Writes that were refused for want of the lease."},
	"spillway_worker_store_failures_total":      {"Calls of the worker that the store did not answer.", "call"},
	"spillway_webhooks_total":                   {"Tries to tell a webhook, by outcome.", "outcome"},
}

func newJobFigures(from JobStats, now func() time.Time) *jobFigures {
	f := &jobFigures{from: from, now: now, descs: map[string]*prometheus.Desc{}}
	for name, words := range jobDescs {
		f.descs[name] = prometheus.NewDesc(name, words[0], words[1:], nil)
	}
	return f
}

// Describe implements prometheus.Collector.
func (f *jobFigures) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range f.descs {
		to <- desc
	}
}

// metricSink writes values to one collection.
type metricSink struct {
	f  *jobFigures
	to chan<- prometheus.Metric
}

func (m metricSink) gauge(name string, value float64, labels ...string) {
	m.to <- prometheus.MustNewConstMetric(m.f.descs[name], prometheus.GaugeValue, value, labels...)
}

func (m metricSink) counter(name string, value uint64, labels ...string) {
	m.to <- prometheus.MustNewConstMetric(m.f.descs[name], prometheus.CounterValue, float64(value), labels...)
}

// Collect implements prometheus.Collector.
func (f *jobFigures) Collect(to chan<- prometheus.Metric) {
	m := metricSink{f, to}
	if f.from.Store != nil {
		m.stored(f.read())
	}
	if f.from.Bell != nil {
		m.bell(f.from.Bell())
	}
	if f.from.Keeper != nil {
		m.keeper(f.from.Keeper())
	}
	if f.from.Worker != nil {
		m.worker(f.from.Worker())
	}
	if f.from.Webhooks != nil {
		s := f.from.Webhooks()
		m.counter("spillway_webhooks_total", s.Sent, "sent")
		m.counter("spillway_webhooks_total", s.Failed, "failed")
		m.counter("spillway_webhooks_total", s.GivenUp, "given-up")
	}
}

// read asks the store, unless it was asked just now. A failure is kept as
// long: a store that is down is not asked by everybody in turn.
func (f *jobFigures) read() jobReading {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.now(); f.at.IsZero() || now.Sub(f.at) >= countedFor {
		f.last = f.ask()
		f.at = f.now()
	}
	return f.last
}

func (f *jobFigures) ask() (r jobReading) {
	// A scrape has no context to hand on.
	ctx, cancel := context.WithTimeout(context.Background(), countPatience)
	defer cancel()
	if r.queues, r.err = f.from.Store.Queues(ctx, mostCounted); r.err == nil {
		r.workers, r.err = f.from.Store.Workers(ctx, false)
	}
	return r
}

// stored leaves out what is not known: a depth of 0 would be a lie.
func (m metricSink) stored(r jobReading) {
	m.gauge("spillway_jobs_store_up", oneIf(r.err == nil))
	if r.err != nil {
		return
	}
	for _, q := range withIdle(r.queues, r.workers) {
		m.gauge("spillway_queue_depth", float64(q.Depth), q.Queue)
		m.gauge("spillway_queue_delayed", float64(q.Delayed), q.Queue)
		m.gauge("spillway_queue_running", float64(q.Running), q.Queue)
		m.gauge("spillway_queue_oldest_seconds", q.OldestAge.Seconds(), q.Queue)
		m.gauge("spillway_queue_oldest_interactive_seconds", q.OldestInteractive.Seconds(), q.Queue)
	}
	count := map[jobs.WorkerStatus]int{jobs.WorkerProvisioning: 0, jobs.WorkerActive: 0, jobs.WorkerDraining: 0, "stale": 0}
	for _, w := range r.workers {
		if w.Stale {
			w.Status = "stale"
		}
		count[w.Status]++
	}
	for status, n := range count {
		m.gauge("spillway_workers", float64(n), string(status))
	}
}

// withIdle adds the queues that somebody works on and that have no jobs: it is
// known of them that they are empty.
func withIdle(queues []jobs.QueueStats, workers []jobs.WorkerRow) []jobs.QueueStats {
	known := map[string]bool{}
	for _, q := range queues {
		known[q.Queue] = true
	}
	all := slices.Clone(queues)
	for _, w := range workers {
		for _, name := range w.Queues {
			if !known[name] {
				known[name] = true
				all = append(all, jobs.QueueStats{Queue: name})
			}
		}
	}
	return all
}

func (m metricSink) bell(s jobs.BellStats) {
	m.gauge("spillway_bell_up", oneIf(s.Up))
	m.counter("spillway_bell_rings_total", s.Rings)
	m.counter("spillway_bell_failures_total", s.Failures)
	m.counter("spillway_bell_repairs_total", s.Repairs)
	m.counter("spillway_bell_drift_total", s.Drift)
}

func (m metricSink) keeper(s jobs.KeeperStats) {
	m.gauge("spillway_keeper_elected", oneIf(s.Elected))
	for what, n := range map[string]uint64{
		"rescued": s.Rescued, "poisoned": s.Poisoned, "promoted": s.Promoted,
		"given-up": s.GivenUp, "aged": s.Aged, "pruned": s.Pruned,
	} {
		m.counter("spillway_keeper_jobs_total", n, what)
	}
	m.counter("spillway_keeper_buried_total", s.Buried)
	for _, role := range s.Roles {
		m.counter("spillway_keeper_failures_total", role.Failures, role.Name)
	}
}

func (m metricSink) worker(s jobs.WorkerStats) {
	m.gauge("spillway_worker_slots", float64(s.Slots))
	m.gauge("spillway_worker_jobs", float64(s.Held), "held")
	m.gauge("spillway_worker_jobs", float64(s.Running), "running")
	m.gauge("spillway_worker_jobs", float64(s.Waiting), "waiting")
	m.gauge("spillway_worker_stuck", float64(s.Stuck))
	for outcome, n := range map[string]uint64{
		"succeeded": s.Succeeded, "failed": s.Failed, "retried": s.Retried,
		"released": s.Released, "cancelled": s.Cancelled, "lost": s.Lost,
	} {
		m.counter("spillway_worker_attempts_total", n, outcome)
	}
	m.counter("spillway_worker_fenced_total", s.Fenced)
	m.counter("spillway_worker_store_failures_total", s.ClaimFailures, "claim")
	m.counter("spillway_worker_store_failures_total", s.BeatFailures, "beat")
}
