package transform

import (
	"fmt"
)

// Debts tells what a service that has nothing to do still has on its accounts.
func (s *Service) Debts() (debts []string) {
	owe := func(what string, n int64) {
		if n != 0 {
			debts = append(debts, fmt.Sprintf("%s: %d", what, n))
		}
	}
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	for in, c := range s.line.lanes {
		owe(lane(in).String()+" waiting", int64(c.waiting))
		owe(lane(in).String()+" cost", int64(c.cost))
		owe(lane(in).String()+" holds", int64(c.holds))
		owe(lane(in).String()+" near", int64(c.near))
		if !c.stood.IsZero() {
			owe(lane(in).String()+" thought to stand", 1)
		}
	}
	owe("working", int64(s.line.working))
	under, _ := s.flights.stats()
	owe("flights", int64(under))
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	owe("open batches", int64(len(s.batches.open)))
	gate := s.crews.gate.Stats()
	owe("at the gate", int64(gate.Running+gate.Waiting))
	owe("bytes at the gate", gate.Held)
	owe("headers being looked at", int64(len(s.probes)))
	owe("writes", int64(len(s.shelf.writes)))
	return debts
}
