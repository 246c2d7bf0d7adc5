package simulate_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/simulate"
)

// moments are what research measured of the real trace.
type moments struct {
	jobs                          int
	meanService, p99Service       float64
	busiest                       int
	medianLoad, p95Load, peakLoad float64
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
	m := measure(t, simulate.Synthetic{})
	for _, c := range []struct {
		what           string
		got, real, off float64
	}{
		{"jobs", float64(m.jobs), 26_823, 0.05},
		{"mean service time", m.meanService, 28.7, 0.02},
		{"99th percentile of it", m.p99Service, 106, 0.05},
		{"jobs in the busiest minute", float64(m.busiest), 64, 0.1},
		{"median of the offered load", m.medianLoad, 0.22, 0.05},
		{"95th percentile of it", m.p95Load, 2.3, 0.1},
		{"its peak", m.peakLoad, 3.5, 0.1},
	} {
		if math.Abs(c.got-c.real) > c.off*c.real {
			t.Errorf("%s: %.2f, which is not within %.0f%% of %.2f", c.what, c.got, 100*c.off, c.real)
		}
	}
}

func TestFactorsMultiplyJobsAndTheirTimes(t *testing.T) {
	one, more := measure(t, simulate.Synthetic{Seed: 7}), measure(t, simulate.Synthetic{Seed: 7, Arrivals: 4, Service: 6})
	if r := float64(more.jobs) / float64(one.jobs); r < 3 || r > 5 {
		t.Errorf("%.2f times as many jobs with four times the arrivals", r)
	}
	if r := more.meanService / one.meanService; r < 5.8 || r > 6.2 {
		t.Errorf("%.2f times the service time with six times", r)
	}
}

func TestATraceIsTheSameEachTimeAndAnotherForAnotherSeed(t *testing.T) {
	a, _ := read(simulate.Synthetic{Days: 2, Seed: 1}.Trace())
	b, _ := read(simulate.Synthetic{Days: 2, Seed: 1}.Trace())
	c, _ := read(simulate.Synthetic{Days: 2, Seed: 2}.Trace())
	if !slices.Equal(a, b) {
		t.Error("the same seed gave another trace")
	}
	if slices.Equal(a, c) {
		t.Error("another seed gave the same trace")
	}
	if !slices.IsSortedFunc(a, func(x, y fleet.PastJob) int { return x.At.Compare(y.At) }) {
		t.Error("jobs are not in order of time")
	}
}
