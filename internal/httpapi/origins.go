package httpapi

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-media/spillway/internal/source"
)

// namedOrigins is how many origins metrics tell by name. Clients choose among
// the allowed hosts, and with a wildcard there may be any number of those.
const namedOrigins = 20

// askedOrigins are read whenever they are collected: all of them in sum, and
// by name those that fail.
type askedOrigins struct {
	read                  func() []source.OriginStats
	origins, visits, shut *prometheus.Desc
}

func newAskedOrigins(read func() []source.OriginStats) *askedOrigins {
	return &askedOrigins{
		read:    read,
		origins: prometheus.NewDesc("spillway_origins", "Origins known, by the state of their breaker.", []string{"breaker"}, nil),
		visits:  prometheus.NewDesc("spillway_origin_fetches", "Fetches from origins: in flight, and waiting for a place at theirs.", []string{"state"}, nil),
		shut:    prometheus.NewDesc("spillway_origin_breaker_open", "1 for each origin that is not asked because it failed; those with the most failures only.", []string{"origin"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (a *askedOrigins) Describe(to chan<- *prometheus.Desc) {
	to <- a.origins
	to <- a.visits
	to <- a.shut
}

// Collect implements prometheus.Collector.
func (a *askedOrigins) Collect(to chan<- prometheus.Metric) {
	all := a.read()
	var open []source.OriginStats
	inFlight, waiting := 0, 0
	for _, origin := range all {
		inFlight, waiting = inFlight+origin.InFlight, waiting+origin.Waiting
		if origin.Open {
			open = append(open, origin)
		}
	}
	gauge := func(desc *prometheus.Desc, value int, label string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), label)
	}
	gauge(a.origins, len(open), "open")
	gauge(a.origins, len(all)-len(open), "closed")
	gauge(a.visits, inFlight, "in-flight")
	gauge(a.visits, waiting, "waiting")
	slices.SortStableFunc(open, func(x, y source.OriginStats) int { return cmp.Compare(y.Failures, x.Failures) })
	for _, origin := range open[:min(len(open), namedOrigins)] {
		gauge(a.shut, 1, origin.Host)
	}
}
