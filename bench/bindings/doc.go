// Package bindings compares this project's libvips binding with govips, the
// binding most Go programs use, by CPU per picture in one run.
//
// Start in bindings_test.go: go test -bench . -benchtime 20x
// It is a module of its own so that govips is no dependency of the server.
// State: libvips, started once by whichever binding comes first.
// It never measures wall time: both bindings use libvips' own threads.
// Limits: pictures are generated; the decision made by it is written down in
// docs/decisions/0001-libvips-binding.md.
package bindings
