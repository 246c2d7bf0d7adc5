package httpapi

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

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
			Help: "Time of a stage of requests that needed it: fetch, queue or work.",
		}, []string{"stage"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spillway_http_response_bytes_total",
			Help: "Body bytes sent to clients, by route.",
		}, []string{"route"}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.stages, m.bytes,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&pulled{images: images, spools: cfg.Spools, engine: cfg.Engine})
	if cfg.Pools != nil {
		m.registry.MustRegister(&pooled{cfg.Pools, poolFigures()})
	}
	return m
}

// observe counts a finished exchange.
func (m *metrics) observe(x *exchange, took time.Duration) {
	m.requests.WithLabelValues(x.route, statusClass(x), string(x.format)).Inc()
	m.seconds.WithLabelValues(x.route).Observe(took.Seconds())
	m.bytes.WithLabelValues(x.route).Add(float64(x.w.bytes))
	if !x.worked {
		return
	}
	for _, stage := range stagesOf(x) {
		if stage.took > 0 {
			m.stages.WithLabelValues(stage.name).Observe(stage.took.Seconds())
		}
	}
}

// statusClass tells answers that we had to cut off from those that went well:
// both began with 200. A client that left is a 499 wherever it left.
func statusClass(x *exchange) string {
	if x.broken && x.code != media.CodeCancelled {
		return "broken"
	}
	return fmt.Sprintf("%dxx", x.w.status/100)
}
