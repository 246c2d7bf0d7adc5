// Package pictures makes the originals of the benchmark and lays them out so
// that no two requests under way name the same one.
//
// Start in set.go (which kinds there are), then ring.go (names that go round).
// State: a Ring counts the names it gave away; all else is written once.
// Make blocks for some seconds, on all processors; it runs programs for the
// formats that Go cannot write.
// It never downloads anything, and equal programs make equal pictures.
// Limits: the folder takes some 30 MB; names are hard links and cost nothing.
package pictures
