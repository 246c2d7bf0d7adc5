package traffic_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/bench/load/traffic"
)

func TestArrivalsAreThoseOfAPoissonProcess(t *testing.T) {
	const rate, seconds = 200.0, 100
	moments := traffic.Arrivals(rate, seconds*time.Second, 1)
	if !slices.IsSorted(moments) || moments[0] < 0 || moments[len(moments)-1] >= seconds*time.Second {
		t.Fatal("arrivals are out of order, or outside their time")
	}
	// The count has mean and variance rate x length: five deviations either way.
	expected := rate * seconds
	if n := float64(len(moments)); math.Abs(n-expected) > 5*math.Sqrt(expected) {
		t.Errorf("%g arrivals, expected about %g", n, expected)
	}
	// Gaps of a Poisson process deviate as much as their mean; regular ones
	// would not deviate at all, and bursts more.
	var sum, squares float64
	for i := 1; i < len(moments); i++ {
		gap := (moments[i] - moments[i-1]).Seconds()
		sum, squares = sum+gap, squares+gap*gap
	}
	n := float64(len(moments) - 1)
	mean := sum / n
	if deviation := math.Sqrt(squares/n - mean*mean); math.Abs(deviation/mean-1) > 0.05 {
		t.Errorf("gaps deviate by %.3f of their mean, want 1", deviation/mean)
	}
	// A gap is longer than the mean with a probability of 1/e.
	long := 0
	for i := 1; i < len(moments); i++ {
		if (moments[i] - moments[i-1]).Seconds() > 1/rate {
			long++
		}
	}
	if share := float64(long) / n; math.Abs(share-1/math.E) > 0.02 {
		t.Errorf("%.3f of the gaps are longer than the mean, want %.3f", share, 1/math.E)
	}
}

func TestArrivalsFollowTheirSeed(t *testing.T) {
	one, same, other := traffic.Arrivals(50, time.Second, 7), traffic.Arrivals(50, time.Second, 7), traffic.Arrivals(50, time.Second, 8)
	if diff := cmp.Diff(one, same); diff != "" {
		t.Errorf("equal seeds differ: %s", diff)
	}
	if slices.Equal(one, other) {
		t.Error("two seeds give equal arrivals")
	}
}

func TestArrivalsOfNoRateAreNone(t *testing.T) {
	if got := traffic.Arrivals(0, time.Second, 1); len(got) != 0 {
		t.Errorf("%d arrivals at no rate", len(got))
	}
}

func TestBucketLetsItsRateThrough(t *testing.T) {
	began := time.Unix(0, 0)
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	type take struct {
		at   float64
		n    int
		wait time.Duration
	}
	for name, takes := range map[string][]take{
		"a full bucket gives its burst at once":         {{0, 500, 0}},
		"what is beyond it has to be waited for":        {{0, 700, 200 * time.Millisecond}},
		"credit is paid back before more is given":      {{0, 700, 200 * time.Millisecond}, {0.2, 100, 100 * time.Millisecond}},
		"it fills up with time":                         {{0, 500, 0}, {0.3, 300, 0}},
		"it never holds more than the burst":            {{0, 500, 0}, {100, 600, 100 * time.Millisecond}},
		"a clock that goes back gives nothing for free": {{5, 500, 0}, {4, 100, 100 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			bucket := traffic.NewBucket(1000, 500, began)
			for _, each := range takes {
				if got := bucket.Take(at(each.at), each.n); got.Round(time.Microsecond) != each.wait {
					t.Errorf("taking %d at %g s: wait %s, want %s", each.n, each.at, got, each.wait)
				}
			}
		})
	}
}

func TestBucketKeepsItsRateInTheLongRun(t *testing.T) {
	now := time.Unix(0, 0)
	bucket := traffic.NewBucket(1_000_000, 16<<10, now)
	total := 0
	for began := now; now.Sub(began) < 10*time.Second; total += 8 << 10 {
		now = now.Add(bucket.Take(now, 8<<10))
	}
	if rate := float64(total) / 10; math.Abs(rate-1_000_000) > 10_000 {
		t.Errorf("rate = %.0f bytes a second, want a million", rate)
	}
}
