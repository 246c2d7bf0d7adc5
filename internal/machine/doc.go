// Package machine tells how many cores and how much memory this process may
// really use, and how much of that is in use.
//
// Start in machine.go (Facts), then cgroup.go, which finds the limits that
// control groups set, in version 1, version 2 and mixtures of both; use.go
// (Meter) reads the use.
// State: none; Facts are a snapshot. A Meter remembers its last reading.
// Reading a handful of small kernel files is all that blocks.
// It never changes a limit.
// Limits: Linux in full; elsewhere the whole machine's cores and memory.
package machine
