// Package visitor asks for pages as Chromium does over HTTP/2, and dates every
// byte that comes: its settings and windows, its priority header, its
// exclusive chain of priorities.
//
// Start in visitor.go (Open, Ask, and the goroutine that reads), then chain.go
// (what depends on what) and dated.go (when which byte was there).
// State: a Visitor's mutex guards its streams and all that is written.
// Ask blocks in the connection only; Answer.Wait until the answer is whole.
// It never judges a server's order, and never decodes a picture.
// Limits: GET only; answers must be those that were expected, byte for byte.
package visitor
