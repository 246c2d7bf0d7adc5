package jobs_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/spillway-media/spillway/jobs"
)

// line is a queue at one rank, as a store keeps it: tags of ready jobs only.
type line struct {
	ready []place
	next  int
}

type place struct {
	tenant string
	tag    float64
	id     int
}

func (l *line) enqueue(tenant string, cost float64) {
	var last, head float64
	for i, p := range l.ready {
		if p.tenant == tenant {
			last = max(last, p.tag)
		}
		if i == 0 || p.tag < head {
			head = p.tag
		}
	}
	l.next++
	l.ready = append(l.ready, place{tenant, jobs.FairTag(last, head, cost), l.next})
}

func (l *line) claim() string {
	first := slices.MinFunc(l.ready, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.id, b.id))
	})
	l.ready = slices.DeleteFunc(l.ready, func(p place) bool { return p.id == first.id })
	return first.tenant
}

func TestATenantWithThousandsOfJobsDelaysAnotherByAFewClaims(t *testing.T) {
	var l line
	for range 3000 {
		l.enqueue("large", 1)
	}
	for range 100 {
		l.claim()
	}
	l.enqueue("small", 1)
	for n := 1; l.claim() != "small"; n++ {
		if n > 2 {
			t.Fatalf("the small tenant still waits after %d claims", n)
		}
	}
}

func TestTenantsShareByTheCostOfTheirJobs(t *testing.T) {
	var l line
	for range 300 {
		l.enqueue("cheap", 1)
	}
	for range 100 {
		l.enqueue("dear", 3)
	}
	count := map[string]int{}
	for range 200 {
		count[l.claim()]++
	}
	if got := float64(count["cheap"]) / float64(count["dear"]); math.Abs(got-3) > 0.3 {
		t.Errorf("claims %v: the ratio is %.2f, want 3", count, got)
	}
}

func TestATenantIsNotPunishedForWorkThatWasDoneWhileNobodyElseCame(t *testing.T) {
	var l line
	for range 500 {
		l.enqueue("early", 1)
	}
	for range 500 {
		l.claim()
	}
	for range 20 {
		l.enqueue("late", 1)
		l.enqueue("early", 1)
	}
	count := map[string]int{}
	for range 20 {
		count[l.claim()]++
	}
	if count["early"] != 10 {
		t.Errorf("claims %v, want ten each", count)
	}
}

func TestCostIsBounded(t *testing.T) {
	for estimate, want := range map[float64]float64{0: 1, 0.2: 1, 7: 7, 1e9: 3600, -1: 1} {
		if got := (jobs.Spec{EstimatedSeconds: estimate}).Cost(); got != want {
			t.Errorf("a job of %v s costs %v, want %v", estimate, got, want)
		}
	}
	if got := (jobs.Spec{EstimatedSeconds: math.NaN()}).Cost(); got != 1 {
		t.Errorf("not a number costs %v", got)
	}
}

func TestTheRoutingTable(t *testing.T) {
	tests := []struct {
		name           string
		spec           jobs.Spec
		spot, onDemand bool
	}{
		{"an interactive preview is for on-demand machines", jobs.Spec{Priority: 3, EstimatedSeconds: 5}, false, true},
		{"a standard conversion goes to either", jobs.Spec{Priority: 4, EstimatedSeconds: 5}, true, true},
		{"a bulk job goes to either", jobs.Spec{Priority: 10, EstimatedSeconds: 1800}, true, true},
		{"a long job that cannot resume stays off spot machines", jobs.Spec{Priority: 8, EstimatedSeconds: 1801}, false, true},
		{"a long job with checkpoints may go there", jobs.Spec{Priority: 8, EstimatedSeconds: 7200, Checkpointable: true}, true, true},
		{"a long interactive job may not", jobs.Spec{Priority: 1, EstimatedSeconds: 7200, Checkpointable: true}, false, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := jobs.Spot.Allowed(test.spec); got != test.spot {
				t.Errorf("spot: %t", got)
			}
			if !jobs.OnDemand.Allowed(test.spec) || !jobs.VPS.Allowed(test.spec) {
				t.Error("on-demand machines and the own server take everything")
			}
		})
	}
}
