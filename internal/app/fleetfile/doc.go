// Package fleetfile reads the scheduler's file and keeps up with it.
//
// Start in read.go (one reading, whole), then watch.go (the loop), then trust.go
// (who could have written it).
// A File owns the settings that are in force; Run is the one goroutine that
// changes them.
// Reading blocks on the disk only.
// It never takes a file that somebody else can write, never lets a bad one take
// the place of a good one, and never sends any of it anywhere.
// Limits: a file of one megabyte, keys of alert channels of 4 KiB.
package fleetfile
