// Package testcorpus finds the shared corpus of real and hostile files, and
// reads what its manifest says of them.
//
// Start in corpus.go: Open, and the types of what it gives.
// State: none; every Open reads the manifest anew.
// Reading files blocks as the disk does.
// It never skips: where the corpus is required and not there, the test fails.
// Limits: what is true of a file is for the test to say, as the type it passes.
package testcorpus
