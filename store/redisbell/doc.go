// Package redisbell is the doorbell of several processes: for each queue a Redis
// list of anonymous tokens, whose length is the queue's depth.
//
// Start in bell.go (Ring, Took, Repair), then wait.go (how a process hears),
// breaker.go (what a dead server costs) and the scripts beside them.
// State: Redis holds only what can be made again from SQL; a Bell owns its two
// clients and its breaker, and one goroutine at a time waits in it.
// Ring, Took and Repair block for their time limits at most and not at all
// while the breaker is open; Wait blocks for about its poll.
// It never fails an enqueue or a claim, never holds a job's data, and never
// puts a URL's password in an error or a log.
// Limits: Redis 6.2 or newer, one server or failover pair, no cluster.
package redisbell
