// Package transform answers one question: given a source and a Request, what
// are the bytes? It is the image path on one page, for HTTP and jobs alike.
//
// Start in service.go (Do), then flight.go, batch.go and turn.go (admission).
// State: flights, batches, line and shelf have a mutex each, taken in this
// order; a turn belongs to its worker in Run.
// Do blocks on the origin, the queue and the first output byte, never on the
// client: results wait in spools, so a slow reader holds no worker.
// It knows nothing of HTTP statuses, headers or libvips.
// Limits: jobs at once, decoded bytes reserved, waiters, fetches, wall time.
package transform
