// Command jobs measures what durable jobs cost, beside River and asynq with
// their defaults in the same run.
//
// Start in main.go, then drain.go (the shape of the comparison); spillway.go,
// river.go and asynq.go run it, backlog.go and reconcile.go measure what only
// Spillway promises. It starts a Postgres and two Redis servers of its own and
// stops them. State: none beyond a run. It sleeps and polls: it is a program
// that measures, and nothing of it is shipped.
package main
