package httpapi

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-media/spillway/internal/spool"
	"github.com/spillway-media/spillway/internal/transform"
)

// pulled reads the Stats of the parts whenever it is collected, so that
// nothing is counted twice.
type pulled struct {
	images Transformer
	spools interface{ Stats() spool.Stats } // may be nil
	engine func() EngineStats               // may be nil
}

// reading is one moment of all parts.
type reading struct {
	images transform.Stats
	spools spool.Stats
	engine EngineStats
}

// figure is one metric and where it is read.
type figure struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	label string // the value of the metric's one label, if it has one
	read  func(reading) float64
}

func gauge(name, help string, read func(reading) float64) figure {
	return figure{prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, "", read}
}

func counter(name, help string, read func(reading) float64) figure {
	return figure{prometheus.NewDesc(name, help, nil, nil), prometheus.CounterValue, "", read}
}

func labelled(name, help, label, value string, read func(reading) float64) figure {
	return figure{prometheus.NewDesc(name, help, []string{label}, nil), prometheus.GaugeValue, value, read}
}

const (
	decodedHelp = "Decoded bytes that running jobs have reserved, and the budget they share."
	spoolHelp   = "Encoded bytes held for jobs and clients, by place."
)

var imageFigures = []figure{
	gauge("spillway_jobs_in_flight", "Transforms at work.", func(r reading) float64 { return float64(r.images.Running) }),
	gauge("spillway_jobs_waiting", "Transforms that wait for their turn.", func(r reading) float64 { return float64(r.images.Waiting) }),
	gauge("spillway_jobs_limit", "Transforms that may be at work at once.", func(r reading) float64 { return float64(r.images.Jobs) }),
	gauge("spillway_jobs_waiting_limit", "Transforms that may wait before more are refused.", func(r reading) float64 { return float64(r.images.QueueLimit) }),
	gauge("spillway_fetches_in_flight", "Sources being read.", func(r reading) float64 { return float64(r.images.Originals.Fetches) }),
	counter("spillway_jobs_done_total", "Transforms that ended, well or not.", func(r reading) float64 { return float64(r.images.Done) }),
	counter("spillway_jobs_refused_total", "Transforms that got no turn in time.", func(r reading) float64 { return float64(r.images.Refused) }),
	labelled("spillway_decoded_bytes", decodedHelp, "kind", "reserved", func(r reading) float64 { return float64(r.images.ReservedBytes) }),
	labelled("spillway_decoded_bytes", decodedHelp, "kind", "budget", func(r reading) float64 { return float64(r.images.BudgetBytes) }),
	counter("spillway_cache_hits_total", "Answers found in the result cache.", func(r reading) float64 { return float64(r.images.Cache.Hits) }),
	counter("spillway_cache_misses_total", "Answers not found in the result cache.", func(r reading) float64 { return float64(r.images.Cache.Misses) }),
	gauge("spillway_cache_entries", "Results in the cache.", func(r reading) float64 { return float64(r.images.Cache.Entries) }),
	gauge("spillway_cache_bytes", "Bytes of results in the cache.", func(r reading) float64 { return float64(r.images.Cache.Bytes) }),
	gauge("spillway_cache_limit_bytes", "Bytes the cache may hold.", func(r reading) float64 { return float64(r.images.Cache.Limit) }),
}

var spoolFigures = []figure{
	gauge("spillway_spools_open", "Spools that somebody still needs.", func(r reading) float64 { return float64(r.spools.Open) }),
	labelled("spillway_spool_bytes", spoolHelp, "place", "memory", func(r reading) float64 { return float64(r.spools.MemoryBytes) }),
	labelled("spillway_spool_bytes", spoolHelp, "place", "disk", func(r reading) float64 { return float64(r.spools.DiskBytes) }),
}

var engineFigures = []figure{
	gauge("spillway_vips_memory_bytes", "Memory libvips tracks.", func(r reading) float64 { return float64(r.engine.MemoryBytes) }),
	gauge("spillway_vips_allocations", "Allocations libvips holds.", func(r reading) float64 { return float64(r.engine.Allocations) }),
	gauge("spillway_vips_files", "Files libvips holds open.", func(r reading) float64 { return float64(r.engine.OpenFiles) }),
}

func failures() *prometheus.Desc {
	return prometheus.NewDesc("spillway_job_failures_total", "Transforms that failed, by code.", []string{"code"}, nil)
}

// figures are those whose parts are there.
func (p *pulled) figures() []figure {
	figures := append([]figure(nil), imageFigures...)
	if p.spools != nil {
		figures = append(figures, spoolFigures...)
	}
	if p.engine != nil {
		figures = append(figures, engineFigures...)
	}
	return figures
}

// Describe implements prometheus.Collector.
func (p *pulled) Describe(to chan<- *prometheus.Desc) {
	to <- failures()
	for _, f := range p.figures() {
		to <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (p *pulled) Collect(to chan<- prometheus.Metric) {
	now := reading{images: p.images.Stats()}
	if p.spools != nil {
		now.spools = p.spools.Stats()
	}
	if p.engine != nil {
		now.engine = p.engine()
	}
	for _, f := range p.figures() {
		var labels []string
		if f.label != "" {
			labels = append(labels, f.label)
		}
		to <- prometheus.MustNewConstMetric(f.desc, f.kind, f.read(now), labels...)
	}
	for code, n := range now.images.Failed {
		to <- prometheus.MustNewConstMetric(failures(), prometheus.CounterValue, float64(n), string(code))
	}
}
