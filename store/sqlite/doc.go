// Package sqlite keeps durable jobs in one SQLite file, for an installation that
// is one machine.
//
// Start in open.go, then writer.go (how many callers share one commit) and
// checkpoint.go (how the log is kept short), then the file of a role: enqueue.go,
// claim.go, finish.go, rescue.go, keep.go, control.go, query.go, workers.go,
// webhooks.go, elect.go, and fleet.go for the scheduler's side. Their SQL is in sql/.
// State: the file is all of it. The writer goroutine owns the one connection that
// writes, the checkpointer one that moves the log; Open starts both and Close
// waits for them. A pool of others only reads.
// A call blocks until what it wrote is on the disk, or behind another process
// that writes; its context ends the wait as long as nothing was begun for it.
// It never acknowledges what a power loss could undo, never reads the clock of
// the process, and answers no caller that the file was busy.
// Limits: local file systems only, because WAL and flock need them; a few
// thousand jobs a second; lists by queue or type alone read the newest jobs
// first, and go through them all when none matches.
package sqlite
