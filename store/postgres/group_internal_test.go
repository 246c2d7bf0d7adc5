package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// A server that does not answer a commit may have carried it out all the same:
// doing it again would enqueue every job of it twice.
func TestACommitThatIsNotAnsweredIsNotDoneAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{}
		var batches [][]string
		first := make(chan struct{})
		g := group[string, struct{}]{working: &s.working, fits: func([]string, string) bool { return true }}
		g.commit = func(ctx context.Context, ins []string) ([]struct{}, []error, error) {
			batches = append(batches, ins)
			if len(batches) == 1 {
				<-first // the others come in meanwhile
				return make([]struct{}, len(ins)), make([]error, len(ins)), nil
			}
			<-time.After(time.Microsecond) // what it takes to come here
			err := s.call(ctx, "insert", func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			})
			return nil, nil, err
		}
		var calls sync.WaitGroup
		var errs [3]error
		for i, in := range []string{"a", "b", "c"} {
			calls.Go(func() { _, errs[i] = g.do(t.Context(), in) })
			synctest.Wait()
		}
		close(first)
		calls.Wait()
		if len(batches) != 2 {
			t.Errorf("batches are %v; want the one that nobody answered to be the last", batches)
		}
		for i, err := range errs[1:] {
			if !errors.Is(err, jobs.ErrUnavailable) {
				t.Errorf("call %d: %v; want the store to be unavailable", i+1, err)
			}
		}
	})
}

// Two endings of one job in one statement would both be told that they did it.
func TestTwoEndingsOfAJobAreNeverCommittedTogether(t *testing.T) {
	batch := []finish{{lease: jobs.Lease{ID: 1, Token: "a"}}, {lease: jobs.Lease{ID: 2, Token: "b"}}}
	for id, want := range map[jobs.ID]bool{1: false, 2: false, 3: true} {
		if got := fitsFinish(batch, finish{lease: jobs.Lease{ID: id, Token: "c"}}); got != want {
			t.Errorf("an ending of job %s fits: %v", id, got)
		}
	}
}
