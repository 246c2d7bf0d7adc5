package httpapi

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-media/spillway/h2"
)

// h2Figure is one metric of every listener, whose name is its first label.
type h2Figure = figureOf[h2.Stats]

// h2Figures are made once; they do not change.
func h2Figures() []h2Figure {
	one := func(name, help string, kind prometheus.ValueType, read func(h2.Stats) float64) h2Figure {
		return h2Figure{prometheus.NewDesc(name, help, []string{"listener"}, nil), kind, "", read}
	}
	figures := []h2Figure{
		one("spillway_h2_connections", "HTTP/2 connections that are open.", prometheus.GaugeValue,
			func(s h2.Stats) float64 { return float64(s.ConnectionsOpen) }),
		one("spillway_h2_connections_total", "HTTP/2 connections so far.", prometheus.CounterValue,
			func(s h2.Stats) float64 { return float64(s.ConnectionsTotal) }),
		one("spillway_h2_streams", "HTTP/2 streams that are open.", prometheus.GaugeValue,
			func(s h2.Stats) float64 { return float64(s.StreamsOpen) }),
		one("spillway_h2_streams_total", "HTTP/2 streams so far.", prometheus.CounterValue,
			func(s h2.Stats) float64 { return float64(s.StreamsTotal) }),
		one("spillway_h2_stalls_total", "Streams and connections ended because their client took nothing.", prometheus.CounterValue,
			func(s h2.Stats) float64 { return float64(s.Stalls) }),
	}
	frames := prometheus.NewDesc("spillway_h2_data_frames_total", "DATA frames sent, by what was in them.", []string{"listener", "phase"}, nil)
	sent := prometheus.NewDesc("spillway_h2_data_bytes_total", "Bytes of bodies sent, by what they are.", []string{"listener", "phase"}, nil)
	for _, phase := range phasesShown {
		figures = append(figures,
			h2Figure{frames, prometheus.CounterValue, phase.String(), func(s h2.Stats) float64 { return float64(s.Frames[phase]) }},
			h2Figure{sent, prometheus.CounterValue, phase.String(), func(s h2.Stats) float64 { return float64(s.Bytes[phase]) }})
	}
	resets := prometheus.NewDesc("spillway_h2_resets_total", "Streams that were reset, by whom.", []string{"listener", "by"}, nil)
	return append(figures,
		h2Figure{resets, prometheus.CounterValue, "server", func(s h2.Stats) float64 { return float64(s.ResetsSent) }},
		h2Figure{resets, prometheus.CounterValue, "client", func(s h2.Stats) float64 { return float64(s.ResetsReceived) }})
}

// h2GoAways has a value for each code that was ever sent.
func h2GoAways() *prometheus.Desc {
	return prometheus.NewDesc("spillway_h2_goaways_total", "Connections that we asked to end, by code (RFC 9113, 7).", []string{"listener", "code"}, nil)
}

// h2Pulled reads the listeners whenever it is collected.
type h2Pulled struct {
	listeners func() []H2Listener
	figures   []h2Figure
}

// Describe implements prometheus.Collector.
func (p *h2Pulled) Describe(to chan<- *prometheus.Desc) {
	to <- h2GoAways()
	for _, f := range p.figures {
		to <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (p *h2Pulled) Collect(to chan<- prometheus.Metric) {
	for _, l := range p.listeners() {
		stats := l.Server.Stats()
		for _, f := range p.figures {
			f.collect(to, stats, l.Name)
		}
		for code, n := range stats.GoAways {
			to <- prometheus.MustNewConstMetric(h2GoAways(), prometheus.CounterValue, float64(n), l.Name, code.String())
		}
	}
}
