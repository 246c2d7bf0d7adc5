package main

import "fmt"

// inline is no pool at all.
type inline struct{}

func newInline() shape { return inline{} }

func (inline) do(j *job) { j.run() }
func (inline) close()    {}

// semaphore lets n in at a time, in the order of arrival: a channel wakes its
// waiting senders first come, first served.
type semaphore struct {
	slots   chan struct{}
	cpuOnly bool
}

func newSemaphore(n int, cpuOnly bool) shape {
	return &semaphore{make(chan struct{}, n), cpuOnly}
}

func semaphoreCPU(cores int) string { return fmt.Sprintf("semaphore %d, CPU stage", cores) }

func (s *semaphore) do(j *job) {
	if s.cpuOnly {
		j.fetch()
		s.slots <- struct{}{}
		j.process()
		<-s.slots
		return
	}
	s.slots <- struct{}{}
	j.run()
	<-s.slots
}

func (s *semaphore) close() {}
