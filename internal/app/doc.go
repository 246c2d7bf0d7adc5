// Package app wires the program: it builds every part in order, listens,
// serves, works on jobs, and drains when it is told to stop.
//
// Start in run.go (Run), then build.go, which lists the parts in the order
// they depend on each other; serve.go has the listeners, backlog.go the durable
// jobs, latestore.go their database that may be away, drain.go the end, and
// fleet_role.go, fleet_open.go and fleet.go the scheduler: role, parts, shell.
// State: the parts own theirs; app only holds them while Run lasts.
// Run blocks until its context ends and the drain is over.
// It holds no decision about a picture, and nothing here registers itself.
// Limits: those of internal/app/settings, which has every setting.
package app
