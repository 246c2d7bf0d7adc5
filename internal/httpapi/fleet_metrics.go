package httpapi

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-media/spillway/fleet"
)

// fleetDescs are the metrics of a scheduler with their labels.
var fleetDescs = map[string][]string{
	"spillway_fleet_leader":                {"1 in the process whose scheduler acts."},
	"spillway_fleet_rounds_total":          {"Rounds of this process, in each of which the scheduler looks, decides and acts."},
	"spillway_fleet_unrecorded_total":      {"Those of them that could not be written down at once."},
	"spillway_fleet_round_seconds":         {"How long the latest round took."},
	"spillway_fleet_round_timestamp":       {"When the latest round began, in seconds since 1970."},
	"spillway_fleet_decisions_total":       {"Decisions of this process, by kind.", "kind"},
	"spillway_fleet_failed_total":          {"Those of them that could not be carried out."},
	"spillway_fleet_mode":                  {"1 for the mode in force.", "mode"},
	"spillway_fleet_latched":               {"1 while a daily limit that has tripped keeps the mode vps_only."},
	"spillway_fleet_workers":               {"Workers by provider, market and status; parked ones are active and claim nothing.", "provider", "market", "status"},
	"spillway_fleet_spend_cents":           {"What machines have cost in the last hour, and since midnight.", "window"},
	"spillway_fleet_spend_limit_cents":     {"What they may cost.", "window"},
	"spillway_fleet_cost_cents_per_hour":   {"What all machines cost an hour now."},
	"spillway_fleet_source_failing_rounds": {"Rounds in a row that a source did not answer: the database, redis, a provider.", "source"},
}

// fleetFigures reads the scheduler whenever it is collected.
type fleetFigures struct {
	read  func() (fleet.Stats, bool)
	descs map[string]*prometheus.Desc
}

func newFleetFigures(read func() (fleet.Stats, bool)) *fleetFigures {
	f := &fleetFigures{read: read, descs: map[string]*prometheus.Desc{}}
	for name, words := range fleetDescs {
		f.descs[name] = prometheus.NewDesc(name, words[0], words[1:], nil)
	}
	return f
}

// Describe implements prometheus.Collector.
func (f *fleetFigures) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range f.descs {
		to <- desc
	}
}

// Collect implements prometheus.Collector. Before the first round nothing is
// known of machines and money, and 0 would be a lie.
func (f *fleetFigures) Collect(to chan<- prometheus.Metric) {
	s, there := f.read()
	if !there {
		return
	}
	value := func(kind prometheus.ValueType, name string, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(f.descs[name], kind, v, labels...)
	}
	gauge := func(name string, v float64, labels ...string) { value(prometheus.GaugeValue, name, v, labels...) }
	counter := func(name string, n uint64, labels ...string) {
		value(prometheus.CounterValue, name, float64(n), labels...)
	}
	gauge("spillway_fleet_leader", oneIf(s.Leader))
	counter("spillway_fleet_rounds_total", s.Ticks)
	counter("spillway_fleet_unrecorded_total", s.Unrecorded)
	counter("spillway_fleet_failed_total", s.Failed)
	for kind, n := range s.Decisions {
		counter("spillway_fleet_decisions_total", n, string(kind))
	}
	if s.At.IsZero() {
		return
	}
	gauge("spillway_fleet_round_seconds", s.Took.Seconds())
	gauge("spillway_fleet_round_timestamp", float64(s.At.UnixMilli())/1000)
	gauge("spillway_fleet_latched", oneIf(s.Latched))
	for _, mode := range []fleet.Mode{fleet.VPSOnly, fleet.Hybrid, fleet.CloudFirst} {
		gauge("spillway_fleet_mode", oneIf(s.Mode == mode), string(mode))
	}
	for _, m := range s.Machines {
		gauge("spillway_fleet_workers", float64(m.Count), m.Provider, string(m.Market), string(m.Status))
	}
	gauge("spillway_fleet_spend_cents", cents(s.Spend.Hour), "hour")
	gauge("spillway_fleet_spend_cents", cents(s.Spend.Day), "day")
	gauge("spillway_fleet_spend_limit_cents", cents(s.Limits.Hourly), "hour")
	gauge("spillway_fleet_spend_limit_cents", cents(s.Limits.Daily), "day")
	gauge("spillway_fleet_cost_cents_per_hour", cents(s.Rate))
	for source, n := range s.Faults {
		gauge("spillway_fleet_source_failing_rounds", float64(n), source)
	}
}

func cents(m fleet.Money) float64 { return float64(m) / float64(fleet.Cent) }
