// Package sandbox is where processes are started: media tools of other projects,
// and helpers, which are this program itself doing what only a kill can stop.
//
// Start in run.go (Run, of a tool; limits.go says how limits reach it), then
// helper.go (StartHelper, in the parent) and confine.go (in the helper).
// State: none for tools; a Helper is its owner's, but anybody may kill it.
// Run and Helper.Close block until the process and its children are gone.
// It never passes the environment on, never runs a shell over words of a
// caller, and never gives a process a terminal or standard input.
// Limits: Limits, and the bytes of output that are kept.
package sandbox
