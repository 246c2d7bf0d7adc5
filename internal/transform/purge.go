package transform

// Purge forgets what is kept in memory of a source, as of cache.Group, or of
// all with an empty group. What is being made of it goes to those who wait
// already, but nobody else gets it: not from a cache, and not by joining. A
// purge is asked for where the origin's own word does not tell its versions
// apart, so that a key alone would not do.
func (s *Service) Purge(group string) {
	s.originals.Purge(group)
	// Whoever has opened the source before comes with an older count.
	s.flights.purge(group, &s.purges)
	s.batches.purge(group)
	s.shelf.purge(group)
	s.infos.Purge(group)
}
