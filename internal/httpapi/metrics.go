package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spillway-media/spillway/internal/media"
)

// metrics counts requests; all else it pulls when asked. Its parts guard
// themselves.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	stages   *prometheus.HistogramVec
	bytes    *prometheus.CounterVec
	scrape   http.Handler
}

// requestBuckets reach from a cached answer to the longest transform.
var requestBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20, 60}

func newMetrics(images Transformer, cfg Config) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spillway_http_requests_total",
			Help: "Requests answered, by route, status class (or broken) and format written (empty: no picture).",
		}, []string{"route", "status", "format"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "spillway_http_request_seconds", Buckets: requestBuckets,
			Help: "Time from a request to the end of its answer, by route.",
		}, []string{"route"}),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "spillway_stage_seconds", Buckets: requestBuckets,
			Help: "Time of a stage of requests that needed it, by format written and whether the answer was whole.",
		}, []string{"stage", "format", "outcome"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spillway_http_response_bytes_total",
			Help: "Body bytes sent to clients, by route.",
		}, []string{"route"}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.stages, m.bytes,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if _, alone := images.(Alone); !alone {
		m.registry.MustRegister(newPulled(images, cfg))
	}
	if cfg.H2 != nil {
		m.registry.MustRegister(&h2Pulled{cfg.H2, h2Figures()})
	}
	if cfg.Pools != nil {
		m.registry.MustRegister(&pooled{cfg.Pools, poolFigures()})
	}
	if cfg.JobStats != nil {
		m.registry.MustRegister(newJobFigures(*cfg.JobStats, cfg.Now))
	}
	if cfg.Fleet != nil {
		m.registry.MustRegister(newFleetFigures(cfg.Fleet))
	}
	if cfg.Origins != nil {
		m.registry.MustRegister(newAskedOrigins(cfg.Origins))
	}
	m.scrape = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		// Packing takes longer than all the rest, just when nobody has time.
		DisableCompression: true,
	})
	return m
}

// observe counts a finished exchange.
func (m *metrics) observe(x *exchange, took time.Duration) {
	m.requests.WithLabelValues(x.route, statusClass(x), string(x.format)).Inc()
	m.seconds.WithLabelValues(x.route).Observe(took.Seconds())
	m.bytes.WithLabelValues(x.route).Add(float64(x.w.bytes))
	m.observeStages(x)
}

// observeStages leaves out what was somebody else's work: a stage counts once.
func (m *metrics) observeStages(x *exchange) {
	for _, stage := range stagesOf(x) {
		if stage.took > 0 && (stage.name == stageWrite || !x.joined) {
			m.stages.WithLabelValues(stage.name, string(x.format), outcome(x)).Observe(stage.took.Seconds())
		}
	}
}

// outcome tells what became of an answer that had begun.
func outcome(x *exchange) string {
	switch {
	case x.code == media.CodeCancelled:
		return "gone"
	case x.broken || x.w.status >= 500:
		return "failed"
	case x.w.status >= 400:
		return "refused"
	}
	return "whole"
}

// statusClass tells answers that we had to cut off from those that went well:
// both began with 200. A client that left is a 499 wherever it left.
func statusClass(x *exchange) string {
	if x.broken && x.code != media.CodeCancelled {
		return "broken"
	}
	return fmt.Sprintf("%dxx", x.w.status/100)
}
