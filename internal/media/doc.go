// Package media is the vocabulary of the image path and its pure planning.
//
// Start in request.go (what a client asked for) and info.go (what a source
// is), then plan.go, which turns the two into a Plan; layout.go has the
// geometry and negotiate.go the choice of an output format.
// State: none; every function is pure and safe for concurrent use.
// Nothing here blocks, reads a clock, touches a file or knows HTTP or libvips.
// Limits: sizes are checked against Limits before any pixel is decoded.
package media
