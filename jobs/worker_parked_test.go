package jobs_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// park bounds what a worker may claim: -1 nothing, 0 all.
func (p *plant) park(w *running, rank int) {
	p.t.Helper()
	if err := p.store.Restrict(p.t.Context(), w.ID(), rank); err != nil {
		p.t.Fatal(err)
	}
	pass(1100 * time.Millisecond) // it asks each second
}

// turns counts how often a worker goes to its bell and to its store.
type turns struct {
	*jobs.ProcessBell
	waits int
}

func (b *turns) Wait(ctx context.Context, queues []string, poll time.Duration) string {
	b.waits++
	return b.ProcessBell.Wait(ctx, queues, poll)
}

func TestAParkedWorkerFinishesWhatItHasAndClaimsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		w := p.start(func(c *jobs.WorkerConfig) { c.Poll, c.Handlers["work"] = time.Hour, takes(time.Minute) })
		defer w.end()
		has := p.enqueue(jobs.Spec{Type: "work"})[0]
		pass(time.Second)
		p.wants(has, jobs.Running, "")
		p.park(w, -1)
		next := p.enqueue(jobs.Spec{Type: "work", Priority: 1})[0]
		pass(10 * time.Minute)
		p.wants(has, jobs.Succeeded, "")
		p.wants(next, jobs.Queued, "")
		if rows, err := p.store.Workers(t.Context(), false); err != nil || len(rows) != 1 ||
			rows[0].Status != jobs.WorkerActive || time.Since(rows[0].LastHeartbeat) > time.Minute {
			t.Errorf("its row is %+v, %v", rows, err)
		}
		p.park(w, 0) // the bell is silent for an hour
		p.wants(next, jobs.Running, "")
	})
}

func TestAParkedWorkerLeavesTheBellToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		slow := func(c *jobs.WorkerConfig) { c.Poll, c.Handlers["work"] = time.Hour, takes(time.Second) }
		first, second := p.start(slow), p.start(slow)
		defer first.end()
		defer second.end()
		p.park(first, -1)
		for range 20 { // each is told to the one that may take it, at once
			id := p.enqueue(jobs.Spec{Type: "work"})[0]
			pass(1500 * time.Millisecond)
			p.wants(id, jobs.Succeeded, "")
		}
		if n := first.Stats().Claimed; n != 0 {
			t.Errorf("it claimed %d jobs", n)
		}
	})
}

func TestAParkedWorkerAsksNeitherBellNorStoreForJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		bell := &turns{ProcessBell: p.bell}
		store := &claims{WorkerSide: p.store}
		w := p.startAt(store, bell, func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(time.Second) })
		defer w.end()
		p.park(w, -1)
		waits, asked := bell.waits, store.n
		p.enqueue(many("work", 5)...)
		pass(time.Hour)
		if bell.waits != waits || store.n != asked {
			t.Errorf("in an hour it waited %d times for the bell, and asked %d times for jobs", bell.waits-waits, store.n-asked)
		}
	})
}

// claims counts the claims of a worker.
type claims struct {
	jobs.WorkerSide
	n int
}

func (s *claims) Claim(ctx context.Context, c jobs.Claim) ([]jobs.Job, error) {
	s.n++
	return s.WorkerSide.Claim(ctx, c)
}

func TestAParkedWorkerIsDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		w := p.start(func(c *jobs.WorkerConfig) { c.Poll, c.Handlers["work"] = time.Hour, takes(time.Minute) })
		defer w.end()
		p.enqueue(jobs.Spec{Type: "work"})
		pass(time.Second)
		p.park(w, -1)
		if err := p.store.Drain(t.Context(), w.ID(), time.Hour); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Second)
		if w.over() {
			t.Fatal("it left the job that it had")
		}
		pass(time.Minute)
		if !w.over() {
			t.Error("it did not end")
		}
	})
}
