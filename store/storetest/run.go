package storetest

import (
	"io"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/jobs"
)

// Backend is a store on an empty database, and what a rule may do to it.
type Backend struct {
	Store jobs.Store
	// Fleet is the scheduler's side of the same database; nil where there is none.
	Fleet fleet.Store
	// Restrict bounds the ranks that a worker is told of, where Fleet is nil.
	Restrict func(t testing.TB, workerID string, maxRank int)
	// Bell is nil where there is none; then LLEN is nil as well. LLEN is the
	// depth of a queue as others read it.
	Bell jobs.Doorbell
	LLEN func(t testing.TB, queue string) int64
	// Shift moves the clock of the database, for this store and for all that
	// Reopen opens: leases expire, delays pass. d may be negative.
	Shift func(d time.Duration)
	// Reopen opens another process' view of the same database, which is closed
	// when the test ends. A store in memory answers itself.
	Reopen func(t testing.TB) jobs.Store
	// Crash kills the server in the middle of what it does and starts it again;
	// nil where a store has no life of its own. Stores that were open before
	// work again after it, at the latest after a few attempts.
	Crash func()
	// Process starts another process that opens the same database and calls
	// Work, and gives what that writes; kill ends it by SIGKILL and waits for
	// it. nil where nothing outlives a process.
	Process func(t testing.TB) (said io.Reader, kill func())
	// Exec damages rows behind the store's back. Only the columns named in
	// fixture.go are used, in SQL that every dialect understands.
	Exec func(t testing.TB, sql string)
	// Fill inserts n finished jobs in all final states with an attempt each, of
	// the queues images, documents and bulk, the fastest way there is.
	Fill func(t testing.TB, n int)
}

// Run holds a store to all rules of package jobs. open makes a new Backend,
// which ends with the test that it is given.
func Run(t *testing.T, open func(t *testing.T) *Backend) {
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			for _, r := range g.rules {
				t.Run(r.name, func(t *testing.T) { r.check(enter(t, open(t))) })
			}
		})
	}
	t.Run("fleet", func(t *testing.T) { runFleet(t, open) })
	t.Run("what only some back ends have", func(t *testing.T) {
		for _, r := range extras() {
			b := open(t)
			if r.has(b) {
				t.Run(r.name, func(t *testing.T) { r.check(enter(t, b)) })
			}
		}
	})
}

// rule is one sentence of the contract and what holds a store to it.
type rule struct {
	name  string
	check func(*fixture)
}

type group struct {
	name  string
	rules []rule
}

func groups() []group {
	return []group{
		{"enqueue", enqueueRules()},
		{"keys", keyRules()},
		{"claim", claimRules()},
		{"fairness", fairRules()},
		{"leases", leaseRules()},
		{"checkpoints", checkpointRules()},
		{"finish", finishRules()},
		{"rescue", rescueRules()},
		{"cancel", cancelRules()},
		{"retry", retryRules()},
		{"times", timeRules()},
		{"clocks", clockRules()},
		{"ageing", ageRules()},
		{"retention", pruneRules()},
		{"workers", workerRules()},
		{"webhooks", webhookRules()},
		{"questions", queryRules()},
		{"elections", electionRules()},
		{"processes", processRules()},
	}
}
