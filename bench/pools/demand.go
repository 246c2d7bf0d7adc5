package main

import "sync"

// A consumer holds at most maxDemand jobs it has asked for and asks again when
// minDemand are left. With more, a job waits at a busy consumer while another
// consumer is idle.
const (
	maxDemand = 2
	minDemand = 1
)

// demand is a producer that hands out nothing it was not asked for.
type demand struct {
	jobs chan *job
	asks chan ask
	quit chan struct{}
	wg   sync.WaitGroup
}

// ask is a consumer's wish for n more jobs.
type ask struct {
	inbox chan *job
	n     int
}

func newDemand(consumers int) shape {
	d := &demand{jobs: make(chan *job, backlog), asks: make(chan ask), quit: make(chan struct{})}
	d.wg.Go(d.produce)
	for range consumers {
		d.wg.Go(d.consume)
	}
	return d
}

// produce owns what is waiting and who has asked.
func (d *demand) produce() {
	var waiting []*job
	var asked []ask
	for {
		select {
		case j := <-d.jobs:
			waiting = append(waiting, j)
		case a := <-d.asks:
			asked = append(asked, a)
		case <-d.quit:
			return
		}
		waiting, asked = hand(waiting, asked)
	}
}

// hand gives jobs to those who asked, one each in turn.
func hand(waiting []*job, asked []ask) ([]*job, []ask) {
	for len(waiting) > 0 && len(asked) > 0 {
		first := asked[0]
		first.inbox <- waiting[0] // its room is what it asked for
		waiting, asked = waiting[1:], asked[1:]
		if first.n--; first.n > 0 {
			asked = append(asked, first)
		}
	}
	return waiting, asked
}

func (d *demand) consume() {
	inbox := make(chan *job, maxDemand)
	pending := 0
	for {
		if pending <= minDemand {
			if !d.ask(inbox, maxDemand-pending) {
				return
			}
			pending = maxDemand
		}
		select {
		case j := <-inbox:
			pending--
			j.run()
			j.finish()
		case <-d.quit:
			return
		}
	}
}

func (d *demand) ask(inbox chan *job, n int) bool {
	select {
	case d.asks <- ask{inbox, n}:
		return true
	case <-d.quit:
		return false
	}
}

func (d *demand) do(j *job) {
	d.jobs <- j
	<-j.done
}

func (d *demand) close() {
	close(d.quit)
	d.wg.Wait()
}
