// Package sandbox runs the media tools of other projects: in a process group
// and a private folder of their own, under resource limits and a deadline.
//
// Start in run.go (Run); limits.go says how the limits reach the tool.
// State: none; the private folder lives as long as the call.
// Run blocks until the tool and all its children are gone.
// It never passes the environment on, never runs a shell over words of a
// caller, and never gives a tool a terminal or standard input.
// Limits: Limits, and the bytes of output that are kept.
package sandbox
