// Package elastic is a worker pool that grows and shrinks with need, knows when
// another worker cannot help, and loses no job.
//
// Start in config.go, then submit.go, worker.go, decide.go; doc examples first.
// State: one mutex guards queue and registry (queue.go, registry.go); EWMAs,
// timers and records belong to the goroutine that called Run (run.go).
// Submit blocks until its job has ended, Enqueue and Stats never; EnterCPU
// waits for its turn at the gate; Run blocks until shutdown is through.
// It never cancels work to shrink, and runs no job twice; it knows no media.
// Limits: workers, queued jobs, classes; CPU slots and memory of a Gate.
package elastic
