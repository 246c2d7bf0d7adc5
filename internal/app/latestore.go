package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// Opening a database of jobs: the first try holds up the start for a moment, so
// that whoever reads "listening" finds the jobs there; further ones do not.
const (
	firstTry   = 3 * time.Second
	laterTry   = 20 * time.Second
	tryAgainIn = 2 * time.Second
)

// lateStore is a jobs.Store whose database need not be there yet: pictures are
// answered without it. Until it is open everything is jobs.ErrUnavailable.
type lateStore struct {
	open func(context.Context) (jobs.Store, error)
	log  *slog.Logger
	// opened is closed once there is a store.
	opened chan struct{}

	mu     sync.Mutex
	store  jobs.Store // guarded by mu; nil until it is open
	fault  error      // guarded by mu; of the latest try
	closed bool       // guarded by mu
}

func newLateStore(open func(context.Context) (jobs.Store, error), log *slog.Logger) *lateStore {
	return &lateStore{open: open, log: log, opened: make(chan struct{})}
}

// try opens the store once, within a time.
func (l *lateStore) try(ctx context.Context, within time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	store, err := l.open(limited)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = err
	if err != nil {
		return err
	}
	if l.closed {
		return store.Close()
	}
	l.store = store
	close(l.opened)
	return nil
}

// Run tries until the store is open or ctx ends. It tells once that there is
// none, and again when the reason is another.
func (l *lateStore) Run(ctx context.Context) {
	told := ""
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-l.opened:
			return
		case <-ctx.Done():
			return
		case <-again.C:
		}
		if l.isOpen() {
			return
		}
		err := l.try(ctx, laterTry)
		switch {
		case err == nil:
			l.log.Info("job store is open")
		case ctx.Err() == nil && err.Error() != told:
			told = err.Error()
			l.log.Warn("no job store; pictures are served, jobs wait", "error", err)
		}
		again.Reset(tryAgainIn)
	}
}

// lookEvery is how often a process looks that cannot begin yet.
const lookEvery = 100 * time.Millisecond

// await tells whether the database is there, once that can be told. With
// patience above 0 it fails when that is over, and at once when the database is
// there and of no use, as one is that was not migrated.
func (l *lateStore) await(ctx context.Context, patience time.Duration) (there bool, err error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for waited := time.Duration(0); ; waited += lookEvery {
		fault := l.latest()
		if patience > 0 && fault != nil && (waited >= patience || !passing(fault)) {
			return false, fmt.Errorf("open the database of jobs: %w", fault)
		}
		select {
		case <-l.opened:
			return true, nil
		case <-ctx.Done():
			return false, nil
		case <-look.C:
		}
	}
}

// passing tells a database that is away from one that is of no use.
func passing(fault error) bool {
	return errors.Is(fault, jobs.ErrUnavailable) || errors.Is(fault, context.DeadlineExceeded)
}

// latest is why the latest try did not open it; nil when there was none.
func (l *lateStore) latest() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}

func (l *lateStore) isOpen() bool {
	select {
	case <-l.opened:
		return true
	default:
		return false
	}
}

// current is the store, or why there is none.
func (l *lateStore) current() (jobs.Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, fmt.Errorf("job store is closed: %w", jobs.ErrUnavailable)
	case l.store == nil && l.fault != nil:
		return nil, fmt.Errorf("%w: %w", jobs.ErrUnavailable, l.fault)
	case l.store == nil:
		return nil, jobs.ErrUnavailable
	}
	return l.store, nil
}

// Close closes what is open.
func (l *lateStore) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.store == nil {
		l.closed = true
		return nil
	}
	l.closed = true
	return l.store.Close()
}

// with asks the store once it is there.
func with[T any](l *lateStore, ask func(jobs.Store) (T, error)) (T, error) {
	store, err := l.current()
	if err != nil {
		var none T
		return none, err
	}
	return ask(store)
}

// told is with for what has no answer but an error.
func told(l *lateStore, tell func(jobs.Store) error) error {
	store, err := l.current()
	if err != nil {
		return err
	}
	return tell(store)
}
