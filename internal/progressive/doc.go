// Package progressive tells what the bytes of a picture are good for while they
// are on their way: its header, a preview, what is good enough for the eye, or
// the rest.
//
// Start at Cutter, which follows one picture from its first byte; then the file
// that is named as the format. Measure does the same for a whole file.
// A Cutter belongs to one goroutine and holds a few bytes of state, no data.
// Nothing here blocks.
// It never changes, drops or holds back a byte, and never fails: what it does
// not understand is body.
// Limits: a header of more than 64 KiB is body from there to its end.
package progressive
