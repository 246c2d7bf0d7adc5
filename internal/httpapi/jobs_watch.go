package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

const (
	// watchEvery is how often all watched jobs together are asked for.
	watchEvery = 500 * time.Millisecond
	// watchChunk is how many ids one question names.
	watchChunk = 500
)

// errWatchedEnough refuses a stream beyond the bound.
var errWatchedEnough = errors.New("as many streams as there may be")

// watcher is the one place in the process that asks the store what has become
// of the jobs that streams show, however many streams there are. Its loop is
// run; streams come and go by themselves.
type watcher struct {
	store JobStore
	most  int
	log   *slog.Logger
	wake  chan struct{} // holds one word for the loop

	mu      sync.Mutex
	watched map[jobs.ID]*watched // guarded by mu
	streams int                  // guarded by mu
	closed  bool                 // guarded by mu
}

// watched is one job, guarded by the watcher's mu.
type watched struct {
	version int64 // latest told; 0 for none
	streams map[*stream]struct{}
}

// stream is what one client is told. Whoever is slow misses what came between
// and gets the latest.
type stream struct {
	id     jobs.ID
	latest chan jobs.Job // holds one
	// gone is closed when there is nothing more to come.
	gone chan struct{}
}

func newWatcher(store JobStore, most int, log *slog.Logger) *watcher {
	return &watcher{store: store, most: most, log: log, wake: make(chan struct{}, 1), watched: map[jobs.ID]*watched{}}
}

// watch begins a stream; leave ends it.
func (w *watcher) watch(id jobs.ID) (*stream, error) {
	s := &stream{id: id, latest: make(chan jobs.Job, 1), gone: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.streams >= w.most {
		return nil, errWatchedEnough
	}
	w.streams++
	if w.watched[id] == nil {
		w.watched[id] = &watched{streams: map[*stream]struct{}{}}
	}
	w.watched[id].streams[s] = struct{}{}
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return s, nil
}

func (w *watcher) leave(s *stream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams--
	if on := w.watched[s.id]; on != nil {
		delete(on.streams, s)
		if len(on.streams) == 0 {
			delete(w.watched, s.id)
		}
	}
}

// close ends every stream. Clients come back with what they had last.
func (w *watcher) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for id := range w.watched {
		w.drop(id)
	}
}

// drop tells the streams of a job that nothing more will come; mu is held.
func (w *watcher) drop(id jobs.ID) {
	for s := range w.watched[id].streams {
		close(s.gone)
	}
	delete(w.watched, id)
}

// run asks until ctx ends, and rests while nobody watches.
func (w *watcher) run(ctx context.Context) {
	defer w.close()
	failing := false
	for {
		if w.idle() {
			select {
			case <-ctx.Done():
				return
			case <-w.wake:
			}
		}
		err := w.poll(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			w.log.Warn("watched jobs not read", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchEvery):
		}
	}
}

func (w *watcher) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.watched) == 0
}

// poll asks once for all that is watched.
func (w *watcher) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	for chunk := range slices.Chunk(w.ids(), watchChunk) {
		versions, err := w.store.Versions(ctx, chunk)
		if err != nil {
			return fmt.Errorf("read versions: %w", err)
		}
		for _, id := range chunk {
			if err := w.look(ctx, id, versions); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *watcher) ids() []jobs.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.watched))
}

// look reads a job that is newer than what was told of it, and tells it.
func (w *watcher) look(ctx context.Context, id jobs.ID, versions map[jobs.ID]int64) error {
	version, there := versions[id]
	if told := w.told(id); there && version <= told {
		return nil
	}
	var job jobs.Job
	var err error
	if there {
		job, err = w.store.Job(ctx, id)
	}
	if err != nil && !errors.Is(err, jobs.ErrNotFound) {
		return fmt.Errorf("read watched job: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	on := w.watched[id]
	if on == nil {
		return nil // nobody watches any more
	}
	if !there || err != nil {
		w.drop(id)
		return nil
	}
	on.version = job.Version
	for s := range on.streams {
		s.tell(job)
	}
	return nil
}

func (w *watcher) told(id jobs.ID) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if on := w.watched[id]; on != nil {
		return on.version
	}
	return 0
}

// tell puts the latest where an older one may still lie. Only the watcher's
// loop tells, so that there is always room after the old one is gone.
func (s *stream) tell(job jobs.Job) {
	select {
	case <-s.latest:
	default:
	}
	s.latest <- job
}
