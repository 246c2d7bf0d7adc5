package jobs

import "math"

// FairTag is the place of a tenant's next job among the ready jobs of its
// queue and rank: start-time fair queueing, of which a store keeps no state but
// the tags of the jobs themselves. last is the highest tag of the tenant's own
// ready jobs there, head the lowest of anybody's; each is 0 where there is none.
// A tenant with ten thousand jobs delays another's first by two jobs at most,
// because the other starts at the head. When a queue runs empty all begin at 0
// again. A job gets this tag whenever it becomes ready after it was not: when it
// is enqueued, its delay is over, or it is retried; and when it is aged into
// another rank. While it is delayed it has none, so that ten thousand jobs that
// become due together are one tenant's turn after another all the same.
func FairTag(last, head, cost float64) float64 {
	return math.Max(last, head) + cost
}

// FairAgain is the tag of a job that is given back at once (released, or its
// lease was lost): it keeps its own, because its tenant's turn was not used, but
// never one below the head, and never one beyond what it would get anew, because
// the queue may have run empty meanwhile and begun at 0.
func FairAgain(own, last, head, cost float64) float64 {
	return math.Max(head, math.Min(own, FairTag(last, head, cost)))
}

// Cost is a job's weight in fairness: its estimated seconds, of which one is
// the least that counts and an hour the most.
func (s Spec) Cost() float64 {
	if !(s.EstimatedSeconds > 1) { // not a number included
		return 1
	}
	return math.Min(s.EstimatedSeconds, 3600)
}
