package transform

import (
	"errors"
	"sync"

	"github.com/spillway-media/spillway/elastic"
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
	l, g, c := s.line.stats(), s.gate.Stats(), s.cache.stats()
	return Stats{
		Jobs: s.cfg.Jobs, Running: g.Running, Waiting: l.waiting, QueueLimit: s.cfg.Queue,
		Fetching: len(s.fetches), ReservedBytes: g.Held, BudgetBytes: s.cfg.MemoryBudget,
		Done: l.done, Refused: l.refused, Failed: s.counts.snapshot(),
		Cache: CacheStats{Hits: c.hits, Misses: c.misses, Entries: c.entries, Bytes: c.bytes, Limit: s.cfg.CacheMemory},
	}
}

// Pool is one look at a pool of workers: how many there are, and why.
type Pool struct {
	Name      string
	Stats     elastic.Stats
	Gate      elastic.GateStats
	Decisions []elastic.Decision // oldest first
}

// Pools are those whose workers the service has.
func (s *Service) Pools() []Pool {
	return []Pool{{Name: poolName, Stats: s.pool.Stats(), Gate: s.gate.Stats(), Decisions: s.pool.Decisions()}}
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
