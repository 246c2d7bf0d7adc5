package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

func TestEveryShapeRunsEveryJobOnce(t *testing.T) {
	const jobs = 50
	for _, e := range entries(2) {
		t.Run(e.name, func(t *testing.T) {
			s, m, l := e.start(), &meter{}, &load{process: func() error { return nil }}
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					j := newJob(l, m)
					for range jobs {
						s.do(j)
					}
				})
			}
			wg.Wait()
			s.close()
			if n := m.runs.Load(); n != callers*jobs {
				t.Errorf("%d of %d jobs ran", n, callers*jobs)
			}
			if n := m.busy.Load(); n != 0 {
				t.Errorf("%d jobs are still in their CPU stage", n)
			}
		})
	}
}

func TestLimitsHold(t *testing.T) {
	for name, limit := range map[string]int64{
		"dispatcher, 4 workers":       4,
		"one queue, 1 worker":         1,
		"semaphore 2, CPU stage":      2,
		"demand-driven, 4 workers":    4,
		"DynamicScaler 16, CPU stage": 2,
		"DynamicScaler 2 to 16":       2,
	} {
		t.Run(name+" has no more jobs on the CPU than it may", func(t *testing.T) {
			e := named(t, name)
			s, m := e.start(), &meter{}
			l := &load{to: time.Millisecond, process: func() error { time.Sleep(time.Millisecond); return nil }}
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					j := newJob(l, m)
					for range 5 {
						s.do(j)
					}
				})
			}
			wg.Wait()
			s.close()
			if m.peak.Load() > limit {
				t.Errorf("%d at once, want at most %d", m.peak.Load(), limit)
			}
		})
	}
}

func named(t *testing.T, name string) entry {
	t.Helper()
	for _, e := range entries(2) {
		if e.name == name {
			return e
		}
	}
	t.Fatalf("no shape is called %q", name)
	return entry{}
}

func TestAFailedJobIsCounted(t *testing.T) {
	m := &meter{}
	newJob(&load{process: func() error { return errors.New("broken") }}, m).run()
	if m.failed.Load() != 1 {
		t.Errorf("%d failures counted, want 1", m.failed.Load())
	}
}

func TestWaitsSpreadOverTheirRange(t *testing.T) {
	l := &load{from: 5 * time.Millisecond, to: 40 * time.Millisecond}
	var sum time.Duration
	const n = 10_000
	for i := range n {
		wait := l.wait(i)
		if wait < l.from || wait > l.to {
			t.Fatalf("job %d waits %s", i, wait)
		}
		sum += wait
	}
	if middle := sum / n; middle < 22*time.Millisecond || middle > 23*time.Millisecond {
		t.Errorf("the mean wait is %s, want 22.5 ms", middle)
	}
}

func TestPercentile(t *testing.T) {
	values := []time.Duration{5, 1, 4, 2, 3}
	for p, want := range map[float64]time.Duration{0: 1, 0.5: 3, 0.8: 4, 0.99: 5, 1: 5} {
		if got := percentile(values, p); got != want {
			t.Errorf("percentile %g is %d, want %d", p, got, want)
		}
	}
	if percentile(nil, 0.5) != 0 {
		t.Error("no values have a percentile")
	}
}

func TestJobsAcrossTheEdgesCountInPart(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(0, int64(s*1e9)) }
	for name, c := range map[string]struct {
		job    ending
		jobs   float64
		sample bool
	}{
		"before":              {ending{at(0), at(1), at(2), at(2)}, 0, false},
		"across the first":    {ending{at(8), at(9), at(11), at(11)}, 0.5, false},
		"inside":              {ending{at(12), at(13), at(14), at(14)}, 1, true},
		"across the second":   {ending{at(18), at(19), at(23), at(23)}, 0.25, true},
		"across both":         {ending{at(0), at(5), at(25), at(25)}, 0.5, false},
		"asked for, not done": {ending{at(19), at(21), at(22), at(22)}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			took, jobs := (&cell{ended: []ending{c.job}}).between(at(10), at(20))
			if jobs != c.jobs || (len(took) == 1) != c.sample {
				t.Errorf("%g jobs and %d latencies, want %g and %t", jobs, len(took), c.jobs, c.sample)
			}
		})
	}
}

func TestFlaps(t *testing.T) {
	at := func(seconds float64, action elastic.Action) elastic.Decision {
		return elastic.Decision{At: time.Unix(0, int64(seconds*1e9)), Action: action, Changed: 1}
	}
	for name, c := range map[string]struct {
		history []elastic.Decision
		want    int
	}{
		"nothing is no flap":                      {nil, 0},
		"growing on is none":                      {[]elastic.Decision{at(1, elastic.Grow), at(1.1, elastic.Grow)}, 0},
		"shrinking at once is one":                {[]elastic.Decision{at(1, elastic.Grow), at(2.9, elastic.Shrink)}, 1},
		"shrinking after two seconds is none":     {[]elastic.Decision{at(1, elastic.Grow), at(3, elastic.Shrink)}, 0},
		"there and back and there again are two":  {[]elastic.Decision{at(1, elastic.Grow), at(2, elastic.Shrink), at(3, elastic.Grow)}, 2},
		"only neighbours in time can be reversed": {[]elastic.Decision{at(1, elastic.Grow), at(2, elastic.Grow), at(3.5, elastic.Shrink)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := flaps(c.history); got != c.want {
				t.Errorf("%d flaps, want %d", got, c.want)
			}
		})
	}
}

func TestReaction(t *testing.T) {
	const ms = time.Millisecond
	counts := []count{
		{10 * ms, 2, 60 * ms}, {20 * ms, 3, 0}, // before the burst
		{110 * ms, 3, 0}, {120 * ms, 3, 51 * ms}, {150 * ms, 3, 80 * ms}, {170 * ms, 4, 90 * ms},
	}
	if got := reaction(counts, 100*ms); got != 50*ms {
		t.Errorf("the reaction took %s, want 50 ms", got)
	}
	if got := reaction(counts[:5], 100*ms); got != -1 {
		t.Errorf("a pool that never grew reacted after %s", got)
	}
}

func TestPlotIsXML(t *testing.T) {
	var rungs []*rung
	for _, e := range entries(2) {
		rungs = append(rungs, &rung{entry: e, samples: []sample{{latencies: []time.Duration{1}, jobs: 1, elapsed: 1, own: 1}}})
	}
	r := &results{
		cores: 2, weather: weather{time.Second, time.Second, time.Second}, findings: make([]finding, 4),
		ladders: []*ladder{{load: &load{name: "synthetic"}, cores: 2, callers: 1, rungs: rungs}},
	}
	r.findings[0] = finding{name: `a < b & "c"`, counts: []count{{0, 2, 0}, {time.Second, 3, 0}}}
	d := xml.NewDecoder(strings.NewReader(r.svg()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPageWithoutMarkersIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	const text = "# Pools\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&results{}).into(path); err == nil {
		t.Error("no complaint about the markers")
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("the page is %q now (%v)", got, err)
	}
}
