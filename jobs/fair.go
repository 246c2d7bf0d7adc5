package jobs

import "math"

// FairTag is the place of a tenant's next job among the ready jobs of its
// queue and rank: start-time fair queueing, of which a store keeps no state but
// the tags of the jobs themselves. last is the highest tag of the tenant's own
// ready jobs there, head the lowest of anybody's; each is 0 where there is none.
// A tenant with ten thousand jobs delays another's first by one job, because
// the other starts at the head. When a queue runs empty all begin at 0 again.
// A job that becomes ready later (a delay is over, it is tried again) keeps its
// tag but never one below the head: nobody saves up turns by waiting.
func FairTag(last, head, cost float64) float64 {
	return math.Max(last, head) + cost
}

// Cost is a job's weight in fairness: its estimated seconds, of which one is
// the least that counts and an hour the most.
func (s Spec) Cost() float64 {
	if !(s.EstimatedSeconds > 1) { // not a number included
		return 1
	}
	return math.Min(s.EstimatedSeconds, 3600)
}
