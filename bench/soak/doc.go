// Package soak loads the server for minutes with everything at once: good,
// hostile, cancelled and slow requests, over HTTP/1.1 and HTTP/2, and slow and
// broken origins, at three times what it can do. It holds only a test.
//
// Start in soak_test.go (what is promised), then visits_test.go (who asks and
// what may be answered), origin_test.go (the origins) and held_test.go (what
// the server holds before and after).
// State: the server is a process of its own; each visitor owns its request.
// The test blocks for SPILLWAY_SOAK (two minutes) and a little more.
// It never asserts how long anything takes: the machine is not its own.
// Limits: Linux, whose /proc tells what a process holds.
package soak
