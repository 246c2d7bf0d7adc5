// Package jobs is durable work: a job that was accepted ends exactly once,
// whatever dies in between.
//
// Start in job.go (what a job is) and state.go (what may become of it), then
// client.go (enqueue), worker.go (claim, run, finish) and keeper.go (rescue,
// promote, prune, set depths right); store.go and bell.go
// are the seams, of which store/sqlite, store/postgres and store/redisbell are
// the implementations, and jobstest has one in memory.
// State: SQL is the only authority; a Worker owns what runs in its process, a
// doorbell owns nothing. All times in rows are the database's clock.
// Stores and bells block on their servers within ctx; pure code (state.go,
// retry.go, fair.go) never does and never reads a clock.
// It never counts without a bound, never claims work it has no slot for, and
// changes no row but under the lease and the state that the change was based on.
// Limits: ten priorities, sizes of a Spec, attempts, deliveries, waiting time,
// working time, retention.
package jobs
