package jobs

import "time"

// WorkerCondition is how a worker is, in a word.
type WorkerCondition string

// The conditions.
const (
	WorkerStarting  WorkerCondition = "starting"          // not registered yet
	WorkerWorking   WorkerCondition = "working"           // all is well
	WorkerEnding    WorkerCondition = "draining"          // takes no more jobs
	WorkerStoreAway WorkerCondition = "store-unavailable" // the last claim failed
	WorkerStopped   WorkerCondition = "stopped"
)

// WorkerStats is what a worker is doing and has done.
type WorkerStats struct {
	ID        string
	Condition WorkerCondition
	// Slots bounds Held, which is how many jobs are in flight now: Running of
	// them are in their handlers, Waiting for their turn at the gate, the rest
	// about to begin or being ended.
	Slots, Held, Running, Waiting int
	// Stuck is how many handlers have not returned although they were given up.
	Stuck     int
	LastClaim time.Time // that brought a job; zero: none has

	// Since the beginning. Failed jobs are over; Retried ones will be tried
	// again. Lost leases are those that ran out or were somebody else's.
	Claimed, Succeeded, Failed, Retried, Released, Cancelled, Lost uint64
	// Fenced counts writes that were refused for want of the lease.
	Fenced uint64
	// ClaimFailures and BeatFailures count calls that the store did not answer.
	ClaimFailures, BeatFailures uint64
}

// tally is the part of the statistics that is counted. The worker's mutex
// guards it.
type tally struct {
	condition WorkerCondition
	stuck     int
	lastClaim time.Time

	claimed, succeeded, failed, retried, released, cancelled, lost uint64
	fenced                                                         uint64
	claimFailures, beatFailures                                    uint64
}

// Stats never blocks for long.
func (w *Worker) Stats() WorkerStats {
	held := w.deliveries()
	w.mu.Lock()
	t, draining := w.tally, w.drainage.on()
	w.mu.Unlock()
	s := WorkerStats{
		ID: w.cfg.Row.ID, Condition: t.condition, Slots: w.cfg.Slots, Held: len(held), Stuck: t.stuck,
		LastClaim: t.lastClaim, Claimed: t.claimed, Succeeded: t.succeeded, Failed: t.failed, Retried: t.retried,
		Released: t.released, Cancelled: t.cancelled, Lost: t.lost, Fenced: t.fenced,
		ClaimFailures: t.claimFailures, BeatFailures: t.beatFailures,
	}
	if draining && s.Condition == WorkerWorking {
		s.Condition = WorkerEnding
	}
	for _, d := range held {
		switch d.at() {
		case atGate:
			s.Waiting++
		case inHandler:
			s.Running++
		}
	}
	return s
}

// count changes the tally.
func (w *Worker) count(change func(*tally)) {
	w.mu.Lock()
	change(&w.tally)
	w.mu.Unlock()
}
