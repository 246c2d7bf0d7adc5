package jobstest

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// Any stands for every method in the knobs.
const Any = "*"

// knob is what is to happen to calls of one method.
type knob struct {
	calls      int
	fail, lose int // how many more calls; negative: all
	slow       time.Duration
	before     func(context.Context) error
}

// Fail makes the next n calls of a method ("Claim", or Any) fail with
// jobs.ErrUnavailable and change nothing. A negative n is all of them, 0 ends it.
func (s *Store) Fail(method string, n int) { s.turn(method, func(k *knob) { k.fail = n }) }

// LoseAnswers makes the next n calls of a method do their work and then fail
// with jobs.ErrUnavailable, as when a server dies right after its commit.
func (s *Store) LoseAnswers(method string, n int) { s.turn(method, func(k *knob) { k.lose = n }) }

// Slow makes calls of a method wait before they begin; 0 ends it.
func (s *Store) Slow(method string, d time.Duration) { s.turn(method, func(k *knob) { k.slow = d }) }

// Before runs f at the begin of every call of a method, without a lock, so that
// it may block and may call the Store; its error fails the call. nil ends it.
func (s *Store) Before(method string, f func(context.Context) error) {
	s.turn(method, func(k *knob) { k.before = f })
}

// Calls is how often a method was called, failures included.
func (s *Store) Calls(method string) int {
	n := 0
	s.turn(method, func(k *knob) { n = k.calls })
	return n
}

// Edit changes a row behind the back of every rule, as raw SQL would: an empty
// token and a zero time are NULL. It answers whether there is such a job.
func (s *Store) Edit(id jobs.ID, change func(*jobs.Job)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[id]
	if r != nil {
		change(&r.job)
	}
	return r != nil
}

// EditWorker does the same to a worker.
func (s *Store) EditWorker(id string, change func(*jobs.WorkerRow)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workers[id]
	if w != nil {
		change(&w.row)
	}
	return w != nil
}

func (s *Store) turn(method string, f func(*knob)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.knobs[method]
	if k == nil {
		k = &knob{}
		s.knobs[method] = k
	}
	f(k)
}

// call is how every method comes in: past the knobs, then under the lock, with
// one time for all that it does.
func call[T any](ctx context.Context, s *Store, method string, f func(now time.Time) (T, error)) (T, error) {
	var none T
	lose := false
	for _, name := range []string{Any, method} {
		lost, err := s.pass(ctx, name)
		if err != nil {
			return none, err
		}
		lose = lose || lost
	}
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("%s: %w", method, context.Cause(ctx))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return none, fmt.Errorf("%s: the store is closed: %w", method, jobs.ErrUnavailable)
	}
	answer, err := f(s.now().Round(0).UTC())
	if err == nil && lose {
		return none, fmt.Errorf("%s: the answer is lost: %w", method, jobs.ErrUnavailable)
	}
	return answer, err
}

// do is call for methods that answer nothing.
func do(ctx context.Context, s *Store, method string, f func(now time.Time) error) error {
	_, err := call(ctx, s, method, func(now time.Time) (struct{}, error) { return struct{}{}, f(now) })
	return err
}

// pass lets a call by the knobs of one name.
func (s *Store) pass(ctx context.Context, name string) (lose bool, err error) {
	var is knob
	s.turn(name, func(k *knob) {
		k.calls++
		is = *k
		switch {
		case k.fail > 0:
			k.fail--
		case k.fail == 0 && k.lose > 0:
			k.lose--
		}
	})
	if is.slow > 0 {
		timer := time.NewTimer(is.slow)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false, fmt.Errorf("wait for the store: %w", context.Cause(ctx))
		}
	}
	if is.before != nil {
		if err := is.before(ctx); err != nil {
			return false, err
		}
	}
	if is.fail != 0 {
		return false, fmt.Errorf("told to fail: %w", jobs.ErrUnavailable)
	}
	return is.lose != 0, nil
}
