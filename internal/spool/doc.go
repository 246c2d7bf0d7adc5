// Package spool holds bytes between two speeds: one writer fills a Spool,
// any number of readers follow it at their own pace.
//
// Start in pool.go (budgets), then spool.go (the writer's side), storage.go
// (memory, then disk), memory.go (mappings outside Go's heap) and reader.go.
// State: a Pool's counters and a Spool's fields are guarded by their mutexes.
// Readers block until bytes come, the writer is done or their context ends;
// writes block only on the disk.
// A Spool never gives a reader an end that the writer did not declare good.
// Limits: memory per spool and over all, disk over all, bytes per spool.
package spool
