package originals

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
)

// Disk keeps bodies over a restart.
type Disk interface {
	Put(key, group string, meta []byte, parts ...[]byte) error
	Delete(key string)
}

// Store is where originals are opened. Its methods are safe for concurrent
// use.
type Store struct {
	cfg    Config
	opener source.Opener
	spools *spool.Pool
	disk   Disk // nil without one
	log    *slog.Logger

	mu      sync.Mutex
	entries map[string]*entry
	fetches int      // questions and bodies under way
	rubbish []func() // what to give back once mu is free
	counts  Stats
}

// New checks cfg; it starts nothing and asks nobody.
func New(cfg Config, opener source.Opener, spools *spool.Pool, disk Disk, log *slog.Logger) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("check originals settings: %w", err)
	}
	return &Store{
		cfg: cfg.withDefaults(), opener: opener, spools: spools, disk: disk, log: log,
		entries: make(map[string]*entry),
	}, nil
}

// Open gives the original that ref names once its headers are known. Those
// who come while the origin is being asked wait for the same answer. The
// caller closes what it gets. Errors are *media.Error.
func (s *Store) Open(ctx context.Context, ref string) (*Original, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	q, err := s.join(ctx, ref)
	if err != nil {
		return nil, err
	}
	return s.await(ctx, q)
}

// join takes a place among those who wait for the question about ref, which
// it asks when nobody has.
func (s *Store) join(ctx context.Context, ref string) (*question, error) {
	s.mu.Lock()
	defer s.unlock()
	s.counts.Opens++
	e := s.enter(ref)
	defer s.leave(e)
	q := e.asking
	if q == nil {
		var err error
		if q, err = s.begin(ctx, e, ref); err != nil {
			return nil, err
		}
	} else {
		s.counts.Joined++
	}
	q.waiters++
	return q, nil
}

// Run does what happens in the background until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Purge forgets the originals of a group, or all with "". Who holds one goes
// on with it.
func (s *Store) Purge(group string) {
	s.mu.Lock()
	defer s.unlock()
	for _, e := range s.entries {
		if group == "" || e.key == group {
			e.asking = nil
		}
	}
}

// unlock frees mu and then gives back what took its leave meanwhile: closing
// a connection or a mapping takes too long to be done under a lock.
func (s *Store) unlock() {
	rubbish := s.rubbish
	s.rubbish = nil
	s.mu.Unlock()
	for _, give := range rubbish {
		give()
	}
}

// Stats is a moment's reading of a Store.
type Stats struct {
	// Opens counts calls of Open, Joined those that waited for a question
	// which somebody else had asked.
	Opens, Joined uint64
	// Fetches are the questions and bodies under way.
	Fetches int
}

// Stats reads the counters.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.counts
	out.Fetches = s.fetches
	return out
}
