// Package vips is the pixel engine: it carries out a media.Plan with libvips.
//
// Start in engine.go (what the rest of the program sees), then run.go, which
// hands one whole plan to run.c in a single call; its stages are load.c,
// frames.c, share.c, finish.c and save.c, over steps in the other C files.
// Encoders that nothing can stop run in helper processes: apart.go here, work.go
// there, parcel.c between them.
// State: libvips itself, started once a process; idle helpers; a run owns
// everything else.
// Run, Probe and Describe hold their goroutine's thread until they are done or
// cancelled; what cannot be stopped half-way is listed at Run.
// Nothing here reads a file, makes a temporary one, or trusts a file's name.
// Limits are the caller's: internal/media checks them before pixels exist.
package vips
