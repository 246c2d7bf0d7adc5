package main

import "sync"

// backlog is the room of a queue: more than there are callers, so that none of
// them ever waits to be let in.
const backlog = 64

// dispatcher is the Job/Dispatcher pattern as the seed describes it: every
// worker owns a channel and registers it in a channel of channels when free,
// and one loop takes a channel out for each job.
type dispatcher struct {
	jobs chan *job
	free chan chan *job
	quit chan struct{}
	wg   sync.WaitGroup
}

func newDispatcher(workers int) shape {
	d := &dispatcher{jobs: make(chan *job, backlog), free: make(chan chan *job, workers), quit: make(chan struct{})}
	for range workers {
		d.wg.Go(d.work)
	}
	d.wg.Go(d.dispatch)
	return d
}

func (d *dispatcher) dispatch() {
	for j := range d.jobs {
		worker := <-d.free
		worker <- j
	}
}

func (d *dispatcher) work() {
	own := make(chan *job)
	for {
		d.free <- own
		select {
		case j := <-own:
			j.run()
			j.finish()
		case <-d.quit:
			return
		}
	}
}

func (d *dispatcher) do(j *job) {
	d.jobs <- j
	<-j.done
}

func (d *dispatcher) close() {
	close(d.jobs)
	close(d.quit)
	d.wg.Wait()
}

// queue is one channel from which workers receive directly.
type queue struct {
	jobs chan *job
	wg   sync.WaitGroup
}

func newQueue(workers int) shape {
	q := &queue{jobs: make(chan *job, backlog)}
	for range workers {
		q.wg.Go(func() {
			for j := range q.jobs {
				j.run()
				j.finish()
			}
		})
	}
	return q
}

func (q *queue) do(j *job) {
	q.jobs <- j
	<-j.done
}

func (q *queue) close() {
	close(q.jobs)
	q.wg.Wait()
}

// stages are two queues in a row: one to fetch, one to process.
type stages struct {
	fetches, processes chan *job
	fetching, working  sync.WaitGroup
}

func newStages(fetchers, processors int) shape {
	s := &stages{fetches: make(chan *job, backlog), processes: make(chan *job, backlog)}
	for range fetchers {
		s.fetching.Go(func() {
			for j := range s.fetches {
				j.fetch()
				s.processes <- j
			}
		})
	}
	for range processors {
		s.working.Go(func() {
			for j := range s.processes {
				j.process()
				j.finish()
			}
		})
	}
	return s
}

func (s *stages) do(j *job) {
	s.fetches <- j
	<-j.done
}

func (s *stages) close() {
	close(s.fetches)
	s.fetching.Wait()
	close(s.processes)
	s.working.Wait()
}
