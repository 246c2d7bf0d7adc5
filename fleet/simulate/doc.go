// Package simulate replays jobs against the scheduler's settings and tells what
// they would have waited, and what the machines would have cost.
//
// Start at Run (run.go), which is one replay, then at world.tick (tick.go),
// which calls the same fleet.Decide and fleet.Remember as the scheduler does.
// A world owns all of one replay; replays share nothing, so Compare runs them side by side.
// Nothing blocks but reading the trace.
// It never reads a clock, a file or a database, and starts no machine: traces are
// handed to it as readers, and the same seed gives the same result.
// Limits: jobs of one priority are taken in the order in which they came (no fair
// shares between users, no ageing), and what is observed is never late or wrong.
package simulate
