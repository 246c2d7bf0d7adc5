package jobstest

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// errDeposed is what an election says that was lost.
var errDeposed = errors.New("the election was lost")

type election struct {
	store *Store
	name  string
}

// Elect is of jobs.Elector.
func (s *Store) Elect(ctx context.Context, name string) (jobs.Election, error) {
	won, err := call(ctx, s, "Elect", func(time.Time) (*election, error) {
		if s.elections[name] != nil {
			return nil, nil //nolint:nilnil // another holds it
		}
		e := &election{s, name}
		s.elections[name] = e
		return e, nil
	})
	if won == nil {
		return nil, err // and not an interface around a nil pointer
	}
	return won, err
}

// Depose makes whoever holds the election lose it.
func (s *Store) Depose(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.elections, name)
}

// Held is of jobs.Election.
func (e *election) Held(ctx context.Context) error {
	return do(ctx, e.store, "Held", func(time.Time) error {
		if e.store.elections[e.name] != e {
			return errDeposed
		}
		return nil
	})
}

// Release is of jobs.Election.
func (e *election) Release() {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	if e.store.elections[e.name] == e {
		delete(e.store.elections, e.name)
	}
}
