package originals

import (
	"container/list"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/spillway-media/spillway/internal/cache"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
)

// Store is where originals are opened. Its methods are safe for concurrent
// use.
type Store struct {
	cfg    Config
	opener source.Opener
	spools *spool.Pool
	disk   *cache.Disk // nil without one
	log    *slog.Logger

	lasting context.Context //nolint:containedctx // what fetches run on: they belong to the store and not to a caller
	halt    context.CancelCauseFunc
	work    sync.WaitGroup // every goroutine but Run's own
	wake    chan struct{}  // holds one when there is something to write

	mu        sync.Mutex
	entries   map[string]*entry
	idle      list.List // of *entry, most recently used first
	idleBytes int64
	bodies    list.List // of *edition whose bytes are kept, most recently used first
	keptBytes int64
	fetches   int        // questions and bodies under way
	behind    int        // questions in the background
	unsaved   []*edition // pinned, to be written to disk
	waiting   int64      // bytes of those
	running   bool       // Run is there to do what happens in the background
	closed    bool       // Run has ended
	rubbish   []func()   // what to give back once mu is free
	counts    Stats
}

// New checks cfg; it starts nothing and asks nobody. Without a Run the store
// works, but for all that happens in the background. disk may be nil.
func New(cfg Config, opener source.Opener, spools *spool.Pool, disk *cache.Disk, log *slog.Logger) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("check originals settings: %w", err)
	}
	s := &Store{
		cfg: cfg.withDefaults(), opener: opener, spools: spools, disk: disk, log: log,
		entries: make(map[string]*entry), wake: make(chan struct{}, 1),
	}
	s.lasting, s.halt = context.WithCancelCause(context.Background())
	return s, nil
}

// errStopping refuses and ends everything once Run has ended.
var errStopping = media.Errorf(media.CodeOverloaded, "The server is stopping.")

// Open gives the original that ref names once its headers are known: from
// memory while they are fresh, else from its origin, which those who come
// meanwhile ask together. ctx ends the waiting of this caller only. The caller
// closes what it gets. Errors are *media.Error.
func (s *Store) Open(ctx context.Context, ref string) (*Original, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	got, err := s.start(ref)
	switch {
	case err != nil:
		return nil, err
	case got.original != nil:
		return got.original, nil
	case got.file != nil:
		return s.look(ref, got.file)
	}
	return s.await(ctx, got.question)
}

// begun is how an Open goes on: one of the three is set.
type begun struct {
	original *Original // nothing is left to do
	question *question // to be waited for; the caller is one of its waiters
	file     *edition  // to be looked at; the caller holds it
}

// start decides whether what is known of ref will do. It waits for nothing.
func (s *Store) start(ref string) (begun, error) {
	now := time.Now()
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return begun{}, errStopping
	}
	s.counts.Opens++
	e := s.enter(cache.Group(ref))
	defer s.leave(e)
	if ed := e.current; ed != nil && ed.recognisable() {
		switch s.cfg.judge(ed.meta, ed.at, now) {
		case useNow:
			s.counts.Fresh++
			return begun{original: s.handle(ed, ref, false, now)}, nil
		case useBehind:
			if s.running {
				s.askBehind(e, ref, now)
				return begun{original: s.handle(ed, ref, true, now)}, nil
			}
		case askFirst:
			if now.Before(e.pause) && s.cfg.helpsOut(ed.meta, ed.at, now) {
				return begun{original: s.handle(ed, ref, true, now)}, nil
			}
		}
		if ed.meta.Kind == source.KindFile && e.asking == nil {
			return s.startLook(ed)
		}
	}
	return s.join(e, ref)
}

// join makes the caller one of those who wait for the question about e, which
// it asks when nobody has. An answer that comes after a caller has come is
// good enough for it, whenever the question was sent.
func (s *Store) join(e *entry, ref string) (begun, error) {
	q := e.asking
	if q != nil {
		s.counts.Joined++
	} else {
		var err error
		if q, err = s.begin(e, ref); err != nil {
			return begun{}, err
		}
	}
	q.waiters++
	return begun{question: q}, nil
}

// takePlace takes a place among the fetches. Nobody waits for one, so that
// who holds one original and wants another can never be stuck.
func (s *Store) takePlace() error {
	switch {
	case s.closed:
		return errStopping
	case s.fetches >= s.cfg.Fetches:
		return media.Errorf(media.CodeOverloaded, "The server is busy: %d sources are being read already.", s.fetches)
	}
	s.fetches++
	return nil
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
