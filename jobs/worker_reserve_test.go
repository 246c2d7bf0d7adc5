package jobs_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

func TestSlotsAreKeptForAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		bulk := p.enqueue(many("bulk", 4)...)
		w := p.start(func(c *jobs.WorkerConfig) {
			c.Slots, c.Reserve, c.Poll = 3, map[string]int{"images": 1}, time.Hour
			c.Handlers["bulk"], c.Handlers["work"] = takes(time.Minute), takes(10*time.Second)
		})
		defer w.end()
		pass(time.Second)
		if n := w.Stats().Running; n != 2 {
			t.Fatalf("%d jobs run; want 2, and a slot that is kept", n)
		}
		first := p.enqueue(jobs.Spec{Type: "work"})[0]
		pass(time.Second)
		p.wants(first, jobs.Running, "")
		pass(10 * time.Second)
		p.wants(first, jobs.Succeeded, "")
		// The bell is silent for an hour; the slots that became free are told of.
		pass(49*time.Second + time.Second)
		p.wants(bulk[0], jobs.Succeeded, "")
		p.wants(bulk[2], jobs.Running, "")
		p.wants(bulk[3], jobs.Running, "")
	})
}

// many is n specs of a type.
func many(kind string, n int) []jobs.Spec {
	specs := make([]jobs.Spec, n)
	for i := range specs {
		specs[i] = jobs.Spec{Type: kind}
	}
	return specs
}

func TestARestrictedWorkerClaimsUpToItsRank(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(time.Second) })
		defer w.end()
		if err := p.store.Restrict(t.Context(), w.ID(), 3); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Second)
		standard := p.enqueue(jobs.Spec{Type: "work", Priority: 5})[0]
		urgent := p.enqueue(jobs.Spec{Type: "work", Priority: 3})[0]
		pass(30 * time.Second)
		p.wants(standard, jobs.Queued, "")
		p.wants(urgent, jobs.Succeeded, "")
		if err := p.store.Restrict(t.Context(), w.ID(), 0); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Second)
		p.wants(standard, jobs.Succeeded, "")
	})
}
