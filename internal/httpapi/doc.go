// Package httpapi is HTTP in and out: routes, parameters, signatures, the one
// status table, conditional requests, answers, metrics and health.
//
// Start in server.go (routes), then exchange.go (the life of one request) and
// image.go (a picture); wish.go reads URLs, status.go maps faults to statuses.
// State: an exchange belongs to the goroutine that serves it; the counters of
// metrics.go guard themselves; everything else is immutable after New.
// Only the Transformer, reads of its outputs and writes to a client block;
// health and metrics never wait for any of them.
// It never touches pixels or sources, and never tells a client what a library said.
// Limits: URL length here; header and connection limits are the listener's.
package httpapi
