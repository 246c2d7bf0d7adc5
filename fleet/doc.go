// Package fleet decides when machines for workers of durable jobs are started
// and ended, under limits in money, and carries that out.
//
// Start at Decide (decide.go), which is pure, then at Scheduler.Tick (tick.go),
// which observes, decides, acts and records.
// What a tick has to know of earlier ones is Memory, kept by the Ledger; the
// workers table is the truth about machines, the providers' inventories about
// what is paid for.
// Only observing, acting and recording may block, each within a time limit.
// It never reads settings from anywhere, never speaks to a database or a cloud
// itself, and imports the standard library only.
// One scheduler acts at a time; a machine without a known price is never started.
package fleet
