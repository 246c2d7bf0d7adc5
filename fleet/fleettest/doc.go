// Package fleettest is a world in memory for package fleet: a store, clouds that
// fail as clouds do, and workers that work; and the suite that every provider
// must pass.
//
// Start at World (world.go), which puts a Clock, a Store and Clouds together;
// then Conformance (conformance.go).
// A Store and a Cloud each own what they hold, under one mutex; a World is used
// by one goroutine, a Store and a Cloud by any number.
// Calls block only where a test asks them to (Hooks, Fault.Hang), within ctx.
// It never reads a clock of its own and never starts a goroutine.
// Limits: it is for tests and for nothing else; what is terminated is kept, so
// that a test can look at all that ever was.
package fleettest
