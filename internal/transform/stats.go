package transform

import (
	"errors"
	"sync"
	"time"

	"github.com/spillway-media/spillway/elastic"
	"github.com/spillway-media/spillway/internal/cache"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/originals"
)

// Stats is one look at the service, for metrics.
type Stats struct {
	Jobs, Running, Waiting int
	QueueLimit             int
	ReservedBytes          int64
	BudgetBytes            int64
	// Done counts transforms that ended, well or not; Refused those that
	// got no turn, of which Shed had waited for one. Failed counts faults by
	// code, cancellations included.
	Done, Refused, Shed uint64
	Failed              map[media.Code]uint64
	// Flights are results being made, Joined how often somebody found what
	// they asked for under way, and Merged how many results were made in a
	// decode that was there for another.
	Flights        int
	Joined, Merged uint64
	// Reduced counts results whose encoder's effort load has lowered.
	Reduced uint64
	// Oldest is how long somebody has waited, Backlog how long newcomers would
	// wait, and Strict whether only short waits are accepted.
	Oldest    time.Duration
	Backlog   time.Duration
	Strict    bool
	Cache     CacheStats
	Disk      CacheStats
	Unkept    uint64 // results that the disk had no time or room for
	Originals originals.Stats
}

// CacheStats is a result cache's part of Stats.
type CacheStats struct {
	Hits, Misses uint64
	Entries      int
	Bytes, Limit int64
}

// Stats is safe to call at any time and cheap.
func (s *Service) Stats() Stats {
	now, l, g := time.Now(), s.line.stats(), s.crews.gate.Stats()
	st := Stats{
		Jobs: s.cfg.Jobs, Running: g.Running, Waiting: l.waiting, QueueLimit: s.cfg.Queue,
		ReservedBytes: g.Held, BudgetBytes: s.cfg.MemoryBudget,
		Done: l.done, Refused: l.refused, Shed: l.shed, Failed: s.counts.snapshot(),
		Reduced: s.reduced.Load(), Backlog: max(l.expected[quick], l.expected[slow]),
		Unkept: s.shelf.unkept.Load(), Originals: s.originals.Stats(),
	}
	st.Flights, st.Joined = s.flights.stats()
	st.Merged = s.batches.stats()
	if l.waiting > 0 {
		st.Oldest = now.Sub(l.since)
	}
	for _, since := range l.stood {
		st.Strict = st.Strict || !since.IsZero() && now.Sub(since) >= s.cfg.OverloadAfter
	}
	if s.shelf.memory != nil {
		st.Cache = cacheStats(s.shelf.memory.Stats())
	}
	if s.shelf.disk != nil {
		st.Disk = cacheStats(s.shelf.disk.Stats())
	}
	return st
}

func cacheStats(s cache.Stats) CacheStats {
	return CacheStats{Hits: s.Hits, Misses: s.Misses, Entries: s.Entries, Bytes: s.Bytes, Limit: s.Limit}
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
	all := make([]Pool, 0, lanes)
	for in, pool := range s.crews.pools {
		all = append(all, Pool{Name: lane(in).String(), Stats: pool.Stats(), Gate: s.crews.gate.Stats(), Decisions: pool.Decisions()})
	}
	return all
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
