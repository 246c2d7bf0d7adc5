// Package priority decides whose bytes leave next on a connection that many
// responses share: the values of RFC 9218, the phases of a picture, and a
// scheduler over both.
//
// Start at Scheduler and Stream, then Effective, which is the order of phases.
// A Scheduler and its Streams belong to one goroutine, or to one mutex.
// Nothing here blocks or reads a clock. Memory is taken only when more streams
// of a class are ready than ever were: at most 16 bytes for each, then kept.
// It never looks at bytes: it is told how many were sent, of which phase.
// Limits: urgencies 0 to 7, weights 1 to 256.
package priority
