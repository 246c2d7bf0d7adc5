package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/spillway-media/spillway/jobs"
)

// Elect wins by a lock on a file beside the database, which the kernel frees when
// the process dies.
func (s *Store) Elect(_ context.Context, name string) (jobs.Election, error) {
	if !jobs.QueueName(name) {
		return nil, fmt.Errorf("elect %.40q: a name has 1 to 40 lower-case letters, digits, - and _", name)
	}
	lock, err := openLock(s.path + "-elect-" + name + ".lock")
	if err != nil {
		return nil, unavailable(err)
	}
	won, err := lock.try()
	if err != nil || !won {
		return nil, unavailable(errors.Join(err, lock.close()))
	}
	e := &election{store: s, lock: lock}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, unavailable(errors.Join(errClosed, lock.close()))
	}
	s.elections[e] = struct{}{}
	return e, nil
}

type election struct {
	store *Store
	mu    sync.Mutex
	lock  *fileLock // nil when it was released
}

// errNotHeld ends an election that was lost or released.
var errNotHeld = errors.New("the election is not held any more")

// Held also sees that the file of the lock is still the one that others would
// lock: somebody may have removed it.
func (e *election) Held(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lock == nil {
		return errNotHeld
	}
	mine, err := e.lock.file.Stat()
	if err != nil {
		return fmt.Errorf("look at the lock of an election: %w", err)
	}
	there, err := os.Stat(e.lock.file.Name())
	if err != nil || !os.SameFile(mine, there) {
		return errNotHeld
	}
	return nil
}

// Release lets another win. A second one does nothing.
func (e *election) Release() {
	e.store.mu.Lock()
	delete(e.store.elections, e)
	e.store.mu.Unlock()
	e.unlock()
}

func (e *election) unlock() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lock != nil {
		_ = e.lock.close() // a file that was only locked
		e.lock = nil
	}
}
