// Package process is a fleet.Provider whose machines are processes of this
// computer: the worker that a server has anyway, and a way to see a fleet grow
// and shrink without a cloud.
//
// Start at Provider.Launch (provider.go), then record.go (what is kept of a
// machine) and family.go (which processes belong to one).
// The state folder owns everything: whoever opens it next, after a crash too,
// knows the same machines. A lock on it makes one call of many act.
// Calls start, signal and list processes, and wait for the lock within ctx.
// It never waits for a worker to end, never signals a process that it cannot
// show to be its own, and never writes an environment down.
// Limits: Linux, one folder for one computer; what runs on another is not seen.
package process
