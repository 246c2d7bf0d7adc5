// Package cache keeps finished bytes for later: in memory, and on disk over
// restarts and crashes.
//
// Start in cache.go (words they share), then memory.go; disk.go leads through
// the disk: index.go decides who stays, header.go is the file's form.
// State: each store is guarded by its own mutex; a folder belongs to one
// process, and others may only count and purge it (folder.go).
// Disk blocks on its file system, never on another entry's reader or writer.
// It never hands out an entry whose checksums do not agree, never goes over
// its limit, and never removes a file it has not named itself.
// Limits: bytes over all and bytes of one entry, overhead included.
package cache
