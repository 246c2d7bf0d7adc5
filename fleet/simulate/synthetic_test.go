package simulate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet/simulate"
)

// moments are what research measured of the real trace.
type moments struct {
	jobs                                 int
	meanService, p99Service              float64
	busiest                              int
	medianLoad, p95Load, peakLoad, heavy float64
}

func measure(t *testing.T, s simulate.Synthetic) moments {
	t.Helper()
	var services []float64
	minutes, hours := map[int64]int{}, make([]float64, 24*24)
	sum := 0.0
	for j, err := range s.Trace() {
		if err != nil {
			t.Fatal(err)
		}
		services = append(services, j.Service.Seconds())
		sum += j.Service.Seconds()
		minutes[j.At.Unix()/60]++
		hours[int(j.At.Sub(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)).Hours())]++
	}
	m := moments{jobs: len(services), meanService: sum / float64(len(services))}
	slices.Sort(services)
	m.p99Service = services[len(services)*99/100]
	for _, n := range minutes {
		m.busiest = max(m.busiest, n)
	}
	slices.Sort(hours)
	load := func(part float64) float64 { return hours[int(part*float64(len(hours)-1))] * m.meanService / 3600 }
	m.medianLoad, m.p95Load, m.peakLoad = load(0.5), load(0.95), load(1)
	return m
}

func TestTheSyntheticTraceHasTheMomentsOfTheRealOne(t *testing.T) {
	for seed := range uint64(6) {
		m := measure(t, simulate.Synthetic{Seed: seed})
		t.Logf("seed %d: %+v", seed, m)
	}
}
