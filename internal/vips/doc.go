// Package vips is the pixel engine: it carries out a media.Plan with libvips.
//
// Start in engine.go (what the rest of the program sees), then run.go, which
// hands one whole plan to run.c in a single call; load.c, geometry.c,
// colour.c, steps.c and save.c are its stages.
// State: libvips itself, started once a process; a run owns everything else.
// Run and Describe block their goroutine's thread until done or cancelled.
// Nothing here reads a file, makes a temporary one, or trusts a file's name.
// Limits are the caller's: internal/media checks them before pixels exist.
package vips
