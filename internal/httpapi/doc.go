// Package httpapi is HTTP in and out: routes, parameters, signatures, the one
// status table, conditional requests, answers, metrics and health; and jobs
// under /v1, with tokens, events, uploads and outputs.
//
// Start in server.go (routes), then exchange.go (the life of one request) and
// image.go (a picture); wish.go reads URLs, status.go maps faults to statuses.
// Jobs start in jobs_routes.go; openapi.json describes them.
// State: an exchange belongs to the goroutine that serves it; the counters of
// metrics.go and the watcher of jobs guard themselves; everything else is
// immutable after New. Run goes on between requests, for the watcher.
// Only the Transformer, the stores of jobs and files, and reads from and writes
// to a client block; health waits for none of them, metrics two seconds for the
// store of jobs.
// It never touches pixels or sources, and never tells a client what a library said.
// Limits: URL length, bodies, uploads and streams here; header and connection limits are the listener's.
package httpapi
