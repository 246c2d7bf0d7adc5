package transform

import (
	"errors"
	"sync"

	"github.com/spillway-media/spillway/internal/media"
)

// Stats is one look at the service, for metrics.
type Stats struct {
	Jobs, Running, Waiting int
	QueueLimit             int
	Fetching               int
	ReservedBytes          int64
	BudgetBytes            int64
	// Done counts transforms that ended, well or not; Refused those that
	// got no turn. Failed counts faults by code, cancellations included.
	Done, Refused uint64
	Failed        map[media.Code]uint64
	Cache         CacheStats
}

// CacheStats is the result cache's part of Stats.
type CacheStats struct {
	Hits, Misses uint64
	Entries      int
	Bytes, Limit int64
}

// Stats is safe to call at any time and cheap.
func (s *Service) Stats() Stats {
	g, c := s.gate.stats(), s.cache.stats()
	return Stats{
		Jobs: s.cfg.Jobs, Running: g.running, Waiting: g.waiting, QueueLimit: s.cfg.Queue,
		Fetching: len(s.fetches), ReservedBytes: g.reserved, BudgetBytes: s.cfg.MemoryBudget,
		Done: g.done, Refused: g.refused, Failed: s.counts.snapshot(),
		Cache: CacheStats{Hits: c.hits, Misses: c.misses, Entries: c.entries, Bytes: c.bytes, Limit: s.cfg.CacheMemory},
	}
}

// counts tallies faults by code.
type counts struct {
	mu     sync.Mutex
	failed map[media.Code]uint64
}

func (c *counts) record(err error) {
	if err == nil {
		return
	}
	code := media.CodeEncodeFailed
	var coded *media.Error
	if errors.As(err, &coded) {
		code = coded.Code
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = make(map[media.Code]uint64)
	}
	c.failed[code]++
}

func (c *counts) snapshot() map[media.Code]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[media.Code]uint64, len(c.failed))
	for code, n := range c.failed {
		out[code] = n
	}
	return out
}
