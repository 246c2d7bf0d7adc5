// Package priority decides whose bytes leave next on a connection that many
// responses share: the values of RFC 9218, the phases of a picture, and a
// scheduler over both.
//
// Start at Scheduler and Stream, then Effective, which is the order of phases.
// A Scheduler and its Streams belong to one goroutine, or to one mutex.
// Nothing here blocks, reads a clock or allocates once a Stream is open.
// It never looks at bytes: it is told how many were sent, of which phase.
// Limits: urgencies 0 to 7, weights 1 to 256.
package priority
