package httpapi

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-media/spillway/elastic"
	"github.com/spillway-media/spillway/internal/transform"
)

// poolFigure is one metric of every pool, whose name is its first label.
type poolFigure = figureOf[transform.Pool]

// poolFigures are made once; they do not change.
func poolFigures() []poolFigure {
	figures := []poolFigure{
		poolGauge("spillway_pool_queued", "Jobs that wait for a worker, or with one for their turn at the gate.",
			func(p transform.Pool) float64 { return float64(waiting(p)) }),
		poolGauge("spillway_pool_oldest_wait_seconds", "How long the first of the jobs without a worker has waited.",
			func(p transform.Pool) float64 { return p.Stats.OldestWait.Seconds() }),
	}
	workers := prometheus.NewDesc("spillway_pool_workers", "Workers: live, retiring, and those of both that are busy.", []string{"pool", "state"}, nil)
	scaled := prometheus.NewDesc("spillway_pool_scale_total", "Times that a pool grew or shrank for its signal's sake.", []string{"pool", "direction"}, nil)
	refused := prometheus.NewDesc("spillway_pool_gate_refusals_total", "Checks at which a pool would have grown but for the gate.", []string{"pool", "reason"}, nil)
	figures = append(figures,
		poolFigure{workers, prometheus.GaugeValue, "live", func(p transform.Pool) float64 { return float64(p.Stats.Live) }},
		poolFigure{workers, prometheus.GaugeValue, "retiring", func(p transform.Pool) float64 { return float64(p.Stats.Retiring) }},
		poolFigure{workers, prometheus.GaugeValue, "busy", func(p transform.Pool) float64 { return float64(p.Stats.Busy) }},
		poolFigure{scaled, prometheus.CounterValue, "up", func(p transform.Pool) float64 { return float64(p.Stats.ScaleUps) }},
		poolFigure{scaled, prometheus.CounterValue, "down", func(p transform.Pool) float64 { return float64(p.Stats.ScaleDowns) }},
	)
	for _, limit := range []elastic.Limit{elastic.LimitCPU, elastic.LimitMemory, elastic.LimitSaturated} {
		figures = append(figures, poolFigure{refused, prometheus.CounterValue, string(limit),
			func(p transform.Pool) float64 { return float64(p.Stats.GateRefusals[limit]) }})
	}
	return figures
}

func poolGauge(name, help string, read func(transform.Pool) float64) poolFigure {
	return poolFigure{prometheus.NewDesc(name, help, []string{"pool"}, nil), prometheus.GaugeValue, "", read}
}

// waiting counts those in the queue and those that a worker holds already.
func waiting(p transform.Pool) int {
	n := p.Stats.Queued
	for _, m := range p.Gate.Members {
		if m.Name == p.Name {
			n += m.Waiting
		}
	}
	return n
}

// pooled reads the pools whenever it is collected.
type pooled struct {
	pools   func() []transform.Pool
	figures []poolFigure
}

// Describe implements prometheus.Collector.
func (p *pooled) Describe(to chan<- *prometheus.Desc) {
	for _, f := range p.figures {
		to <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (p *pooled) Collect(to chan<- prometheus.Metric) {
	for _, pool := range p.pools() {
		for _, f := range p.figures {
			f.collect(to, pool, pool.Name)
		}
	}
}

// poolDocument is one pool in the answer of /debug/pools. Times are in seconds.
type poolDocument struct {
	Name         string             `json:"name"`
	Workers      workersDocument    `json:"workers"`
	Queued       int                `json:"queued"`
	OldestWait   float64            `json:"oldest_wait_s"`
	StandingWait float64            `json:"standing_wait_s"`
	ArrivalRate  float64            `json:"arrivals_per_s"`
	ServiceTime  float64            `json:"service_time_s"`
	Done         uint64             `json:"done"`
	Failed       uint64             `json:"failed"`
	Returned     uint64             `json:"returned"`
	Panicked     uint64             `json:"panicked"`
	ScaleUps     uint64             `json:"scale_ups"`
	ScaleDowns   uint64             `json:"scale_downs"`
	Refills      uint64             `json:"refills"`
	GateRefusals map[string]uint64  `json:"gate_refusals"`
	Gate         gateDocument       `json:"gate"`
	Steal        float64            `json:"cpu_steal"`
	Throttled    float64            `json:"cpu_throttled"`
	Quota        float64            `json:"cpu_quota"`
	Decisions    []decisionDocument `json:"decisions"`
}

type workersDocument struct {
	Live     int `json:"live"`
	Retiring int `json:"retiring"`
	Busy     int `json:"busy"`
	Min      int `json:"min"`
	Max      int `json:"max"`
}

type gateDocument struct {
	Slots   int   `json:"slots"`
	Running int   `json:"running"`
	Waiting int   `json:"waiting"`
	Memory  int64 `json:"memory_bytes"`
	Held    int64 `json:"held_bytes"`
}

// decisionDocument is one entry of the history: since and times tell how
// often the same was decided in a row.
type decisionDocument struct {
	At      time.Time `json:"at"`
	Since   time.Time `json:"since"`
	Times   int       `json:"times"`
	Action  string    `json:"action"`
	Wanted  int       `json:"wanted"`
	Changed int       `json:"changed"`
	Reason  string    `json:"reason"`
	Limit   string    `json:"limit,omitempty"`
	Stopped string    `json:"stopped,omitempty"`
	Live    int       `json:"live"`
	Busy    int       `json:"busy"`
	Queued  int       `json:"queued"`
}

func describePool(p transform.Pool) poolDocument {
	s := p.Stats
	d := poolDocument{
		Name: p.Name, Workers: workersDocument{s.Live, s.Retiring, s.Busy, s.MinWorkers, s.MaxWorkers},
		Queued: s.Queued, OldestWait: s.OldestWait.Seconds(), StandingWait: s.StandingWait.Seconds(),
		ArrivalRate: s.ArrivalRate, ServiceTime: s.ServiceTime.Seconds(),
		Done: s.Done, Failed: s.Failed, Returned: s.Returned, Panicked: s.Panicked,
		ScaleUps: s.ScaleUps, ScaleDowns: s.ScaleDowns, Refills: s.Refills,
		GateRefusals: make(map[string]uint64, len(s.GateRefusals)),
		Gate:         gateDocument{p.Gate.Slots, p.Gate.Running, p.Gate.Waiting, p.Gate.Memory, p.Gate.Held},
		Steal:        s.Host.Steal, Throttled: s.Host.Throttled, Quota: s.Host.Quota,
		Decisions: make([]decisionDocument, 0, len(p.Decisions)),
	}
	for limit, n := range s.GateRefusals {
		d.GateRefusals[string(limit)] = n
	}
	for _, e := range p.Decisions {
		d.Decisions = append(d.Decisions, decisionDocument{
			At: e.At, Since: e.Since, Times: e.Times, Action: e.Action.String(), Wanted: e.Wanted, Changed: e.Changed,
			Reason: e.Reason, Limit: string(e.Limit), Stopped: e.Stopped, Live: e.Live, Busy: e.Busy, Queued: e.Queued,
		})
	}
	return d
}

// answerPools tells what the pools do, and why, to people and dashboards.
func (s *Server) answerPools(x *exchange) error {
	pools := []poolDocument{}
	if s.cfg.Pools != nil {
		for _, p := range s.cfg.Pools() {
			pools = append(pools, describePool(p))
		}
	}
	document, err := json.MarshalIndent(map[string]any{"pools": pools}, "", "  ")
	if err != nil {
		return fmt.Errorf("write pools: %w", err)
	}
	return s.writeState(x, string(document))
}
