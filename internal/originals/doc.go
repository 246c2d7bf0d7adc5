// Package originals owns every original on its way in: whoever wants one at
// the same moment shares one question to the origin and one body.
//
// Start in store.go (Open), then original.go (what a holder gets),
// question.go (asking the origin) and flow.go (bringing the bytes).
// State: everything is guarded by Store.mu; a flow belongs to its goroutine.
// Open and Load wait for the origin within their own context; what is fetched
// runs on a context of its own and ends when nobody holds it any more.
// It never keeps a body that is not complete, and never looks into one.
// Limits: bytes of one original, fetches at a time, all in Config.
package originals
