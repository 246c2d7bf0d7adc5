// Package fairness compares, in one run, by which order streams that always
// have bytes share a connection: the scheduler of package priority, and those
// that servers are known to have.
//
// Start at Measure, which returns a Report; its Write prints the tables, its
// Targets say what was to be reached and whether it was. A contender is one
// scheduler (contenders.go), share.go counts, cost.go takes the time.
// Measure runs in the calling goroutine and owns all that it makes.
// Nothing blocks; a run takes some seconds of one core.
// It never sends a byte: frames are equal, and counted.
// Limits: windows are always told, since shares say nothing without them.
package fairness
