package fleet

// candidates lists the ways to launch one machine for a queue, best first and
// within the budget, and why others are not among them. The markets are in the
// order in which they are wanted; provider "" is any that the queue allows.
func (d *deciding) candidates(queue string, markets []Market, provider string) ([]Candidate, []Rejected) {
	return nil, nil
}

// marketsFor says in which market each of n more workers of a queue belongs, by
// the routing rows of the jobs that wait and the workers that are there.
func marketsFor(q QueueState, cfg Queue, have map[Market]int, n int) []Market { return nil }
