package main

import (
	"fmt"

	"github.com/alitto/pond/v2"
	"github.com/gammazero/workerpool"
	"github.com/panjf2000/ants/v2"
	"github.com/sourcegraph/conc/pool"
)

// peers are the pools Go programs use most, each with n workers and its own
// defaults. tunny and go-concurrency-limits are not offered by the module proxy.
func peers(n int) []entry {
	name := func(of string) string { return fmt.Sprintf("%s, %d workers", of, n) }
	return []entry{
		{name: name("ants"), note: "v2.12.1", start: func() shape { return newAnts(n) }},
		{name: name("pond"), note: "v2.7.1", start: func() shape { return newPond(n) }},
		{name: name("workerpool"), note: "v1.3.0", start: func() shape { return newWorkerPool(n) }},
		{name: name("conc"), note: "v0.3.0", start: func() shape { return newConc(n) }},
	}
}

// peer is a pool that takes functions and is told how to give and how to stop.
type peer struct {
	give func(func())
	stop func()
}

func (p *peer) do(j *job) {
	p.give(j.whole)
	<-j.done
}

func (p *peer) close() { p.stop() }

// newAnts panics where its pool refuses, which it only does when it is closed
// or told not to block: either is a fault of this program.
func newAnts(n int) shape {
	p, err := ants.NewPool(n)
	must(err)
	return &peer{func(f func()) { must(p.Submit(f)) }, p.Release}
}

func newPond(n int) shape {
	p := pond.NewPool(n)
	return &peer{func(f func()) { must(p.Go(f)) }, p.StopAndWait}
}

func newWorkerPool(n int) shape {
	p := workerpool.New(n)
	return &peer{p.Submit, p.StopWait}
}

func newConc(n int) shape {
	p := pool.New().WithMaxGoroutines(n)
	return &peer{p.Go, p.Wait}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
