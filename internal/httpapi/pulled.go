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
	list   []figure
}

// newPulled settles once what is read of the parts that are there.
func newPulled(images Transformer, cfg Config) *pulled {
	p := &pulled{images: images, spools: cfg.Spools, engine: cfg.Engine}
	p.list = imageFigures()
	if p.spools != nil {
		p.list = append(p.list, spoolFigures()...)
	}
	if p.engine != nil {
		p.list = append(p.list, engineFigures()...)
	}
	return p
}

// reading is one moment of all parts.
type reading struct {
	images transform.Stats
	spools spool.Stats
	engine EngineStats
}

// figure is one metric of the process.
type figure = figureOf[reading]

// figureOf is one metric and where in T it is read.
type figureOf[T any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	label string // the value of the metric's own label, if it has one
	read  func(T) float64
}

// collect sends the metric of a moment. Labels that it shares with others come
// before its own.
func (f figureOf[T]) collect(to chan<- prometheus.Metric, now T, shared ...string) {
	labels := shared
	if f.label != "" {
		labels = append(labels, f.label)
	}
	to <- prometheus.MustNewConstMetric(f.desc, f.kind, f.read(now), labels...)
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

// counted is labelled for what only grows.
func counted(name, help, label, value string, read func(reading) float64) figure {
	return figure{prometheus.NewDesc(name, help, []string{label}, nil), prometheus.CounterValue, value, read}
}

func failures() *prometheus.Desc {
	return prometheus.NewDesc("spillway_job_failures_total", "Transforms that failed, by code.", []string{"code"}, nil)
}

// Describe implements prometheus.Collector.
func (p *pulled) Describe(to chan<- *prometheus.Desc) {
	to <- failures()
	for _, f := range p.list {
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
	for _, f := range p.list {
		f.collect(to, now)
	}
	for code, n := range now.images.Failed {
		to <- prometheus.MustNewConstMetric(failures(), prometheus.CounterValue, float64(n), string(code))
	}
}
