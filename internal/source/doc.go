// Package source opens originals: over http and https, from a folder, or from
// an S3 bucket, and from nowhere that the operator did not allow.
//
// Start in source.go (what a caller gets), then router.go (which kind a
// reference is), web.go, file.go and s3.go; allow.go and guard.go decide what
// may be reached, and body.go keeps every body honest. breaker.go, origins.go
// and visit.go decide when an origin may be asked; life.go and conditional.go
// read and ask how long an answer is good for.
// State: a Router is immutable but for its counters, and the origins it knows,
// which a mutex each guards.
// Open and Body.Read block on the network or the disk, and Open for a place at
// its origin, within the timeouts.
// A body that is cut off ends with an error, never with io.EOF; no error or
// log line holds a path, a query or a credential of a reference.
// Limits: bytes, four timeouts, a least rate, redirects, retries, and places
// and lines for each origin, all in Config.
package source
