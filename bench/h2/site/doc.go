// Package site is what the servers of the benchmark serve: pages of progressive
// JPEGs, and small and large bodies, by the same handler whoever serves it.
//
// Start in pictures.go (how the set is made), then site.go (the handler) and
// server.go (which servers there are).
// State: a Site is not changed once it serves; a Server owns its goroutine.
// Make blocks for some ten seconds, on all processors; handlers block in Write.
// It never downloads anything, and equal programs make equal pictures.
// Limits: the set takes some 20 MB in memory.
package site
