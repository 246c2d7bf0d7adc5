package originals

import "github.com/spillway-media/spillway/internal/cache"

// Stats is a moment's reading of a Store. The counters begin with it.
type Stats struct {
	// Opens counts calls of Open. Of those, Fresh needed no question, and
	// Joined waited for one that somebody else had asked.
	Opens, Fresh, Joined uint64
	// Revalidated counts questions about what was known already, Unchanged
	// those whose answer was that it is still good, and Changed those and the
	// fetches that met something else than what was remembered.
	Revalidated, Unchanged, Changed uint64
	// Stale counts uses beyond freshness, Behind the questions asked in the
	// background for it.
	Stale, Behind uint64
	// FromDisk counts originals found on the disk, Saved those written there.
	FromDisk, Saved uint64
	// Fetches are the questions and bodies under way.
	Fetches int
	// Remembered are the originals that are known without being in use.
	Remembered int
	// KeptBodies and KeptBytes are what is kept in memory after use.
	KeptBodies int
	KeptBytes  int64
	// Disk is all that the disk's store has, whoever put it there.
	Disk cache.Stats
}

// Stats reads the counters.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	out := s.counts
	out.Fetches = s.fetches
	out.Remembered = s.idle.Len()
	out.KeptBodies, out.KeptBytes = s.bodies.Len(), s.keptBytes
	s.mu.Unlock()
	if s.disk != nil {
		out.Disk = s.disk.Stats()
	}
	return out
}
