package fleettest

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

var errDeposed = errors.New("the election was lost")

type election struct {
	store *Store
	name  string
}

// Elect is of fleet.Elector.
func (s *Store) Elect(ctx context.Context, name string) (fleet.Election, error) {
	return call(ctx, s, "Elect", func(time.Time) (fleet.Election, error) {
		if s.elections[name] != nil {
			return nil, nil //nolint:nilnil // another holds it
		}
		e := &election{s, name}
		s.elections[name] = e
		return e, nil
	})
}

// Depose makes whoever holds an election lose it.
func (s *Store) Depose(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.elections, name)
}

// Held is of fleet.Election.
func (e *election) Held(ctx context.Context) error {
	return act(ctx, e.store, "Held", func(time.Time) error {
		if e.store.elections[e.name] != e {
			return errDeposed
		}
		return nil
	})
}

// Release is of fleet.Election.
func (e *election) Release() {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	if e.store.elections[e.name] == e {
		delete(e.store.elections, e.name)
	}
}
