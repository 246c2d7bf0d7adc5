package fleettest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

var (
	_ fleet.Store  = (*Store)(nil)
	_ fleet.Depths = (*Store)(nil)
)

// Hooks make a store fail. Each is given the name of the method ("Fleet",
// "Provision", "Depths", ...), and an error that it answers is the method's.
type Hooks struct {
	// Before is called first; with an error nothing is done. It may block until
	// ctx ends, as a server that hangs does.
	Before func(ctx context.Context, method string) error
	// After is called when all is done: an error is an answer that got lost.
	After func(ctx context.Context, method string) error
}

// Store is all that a scheduler keeps and asks, in memory: Demand, Depths, Rows,
// Drains, Ledger, Desk, Usages and Elector of package fleet, and the jobs that
// workers take.
type Store struct {
	now     func() time.Time // the clock of this database
	fleetID string

	mu        sync.Mutex // guards all below
	hooks     Hooks
	workers   map[string]*fleet.Worker // terminated ones too
	ended     map[string]time.Time     // when they were
	queues    map[string]*queue
	running   map[int64]*Job
	attempts  []attempt
	lastJob   int64
	depths    map[string]int64 // what Redis says otherwise
	decisions []kept
	byID      map[string]int // where in decisions
	entries   []fleet.SpendEntry
	booked    map[entryKey]bool
	memory    []byte // JSON: what is not written down is lost, as in a database
	latch     *fleet.Latch
	requests  []fleet.Request
	ticked    time.Time
	elections map[string]*election
}

// NewStore makes an empty one. now is what its database would take for the time.
func NewStore(now func() time.Time) *Store {
	return &Store{
		now:       now,
		fleetID:   "fleet-in-memory",
		workers:   map[string]*fleet.Worker{},
		ended:     map[string]time.Time{},
		queues:    map[string]*queue{},
		running:   map[int64]*Job{},
		depths:    map[string]int64{},
		byID:      map[string]int{},
		booked:    map[entryKey]bool{},
		memory:    []byte("{}"),
		elections: map[string]*election{},
	}
}

// SetHooks replaces the hooks; the zero value heals the store.
func (s *Store) SetHooks(h Hooks) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = h
}

// call runs one method with its hooks, and answers nothing but the error when
// there is one.
func call[T any](ctx context.Context, s *Store, method string, do func(now time.Time) (T, error)) (T, error) {
	var none T
	s.mu.Lock()
	hooks := s.hooks
	s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("%s: %w", method, err)
	}
	if hooks.Before != nil {
		if err := hooks.Before(ctx, method); err != nil {
			return none, err
		}
	}
	answer, err := locked(s, do)
	if err != nil {
		return none, err
	}
	if hooks.After != nil {
		if err := hooks.After(ctx, method); err != nil {
			return none, err
		}
	}
	return answer, nil
}

func locked[T any](s *Store, do func(now time.Time) (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return do(s.now())
}

// act is call for methods that answer an error only.
func act(ctx context.Context, s *Store, method string, do func(now time.Time) error) error {
	_, err := call(ctx, s, method, func(now time.Time) (struct{}, error) { return struct{}{}, do(now) })
	return err
}
