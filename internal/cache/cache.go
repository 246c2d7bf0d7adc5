package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// Conditions a caller branches on.
var (
	// ErrTooLarge means that one entry is larger than one may be.
	ErrTooLarge = errors.New("entry is larger than the cache takes")
	// ErrFull means that everything that could leave is being read.
	ErrFull = errors.New("cache has no room beside what is being read")
	// ErrInUse means that another process has the folder open.
	ErrInUse = errors.New("cache folder is in use by another process")
	// ErrClosed means a Put after Close.
	ErrClosed = errors.New("cache is closed")
)

// Stats is a moment's reading of a store. The counters begin with the process.
type Stats struct {
	Hits, Misses uint64
	// Evicted counts entries that left to make room.
	Evicted uint64
	// Broken counts entries that were removed because their bytes were wrong.
	Broken uint64
	// Entries and Bytes are what is kept; Bytes counts overhead, too.
	Entries int
	Bytes   int64
	Limit   int64
	// Held counts entries that somebody has not closed yet; a Memory has none.
	Held int
}

// Purged is what a purge removed.
type Purged struct {
	Entries int
	Bytes   int64
}

// Group names everything that was made from one source. It is a hash, so that
// no address, and no key in its query, lies on disk.
func Group(ref string) string {
	sum := sha256.Sum256([]byte(ref))
	return hex.EncodeToString(sum[:16])
}
