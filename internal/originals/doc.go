// Package originals owns every original on its way in: whoever wants one at
// the same moment shares one question to its origin and one body, and what
// may be used again is kept.
//
// Start in store.go (Open), then freshness.go (what may be used when),
// question.go (asking the origin), flow.go (bringing the bytes) and
// original.go (what a holder gets); entry.go says who forgets what.
// State: everything is guarded by Store.mu; a flow's body by its goroutine.
// Open and Load wait for the origin within their caller's context; a fetch
// runs on one of its own and ends when nobody holds its edition any more.
// It never keeps a body that is not known to be complete, nor looks into one.
// Limits: bytes of one original, fetches at a time, bodies, memories: Config.
package originals
