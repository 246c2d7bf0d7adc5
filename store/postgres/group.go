package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/spillway-media/spillway/jobs"
)

// group lets calls that come in while a commit is under way share the next one:
// a commit waits for the disk, and one wait serves all of them. A call alone is
// committed at once.
type group[In, Out any] struct {
	// commit does all of a batch in one transaction, or answers an error and
	// has done none. outs and errs are by the index of ins.
	commit func(ctx context.Context, ins []In) (outs []Out, errs []error, err error)
	// fits says whether in may join a batch.
	fits    func(batch []In, in In) bool
	working *sync.WaitGroup

	mu      sync.Mutex
	pending []*call[In, Out] // guarded by mu
	busy    bool             // guarded by mu: a goroutine empties pending
}

type call[In, Out any] struct {
	in    In
	out   Out
	err   error
	done  chan struct{}
	batch *batch // guarded by the group's mu; nil while the call is pending
}

// batch is what is being committed.
type batch struct {
	cancel  context.CancelFunc
	staying int // guarded by the group's mu: callers that still wait
}

// do answers once it is known whether what was asked for is committed. When ctx
// ends before its commit has begun it is not; a commit that has begun is broken
// off only when all of its callers have left.
func (g *group[In, Out]) do(ctx context.Context, in In) (Out, error) {
	c := &call[In, Out]{in: in, done: make(chan struct{})}
	if ctx.Err() != nil {
		return c.out, context.Cause(ctx)
	}
	g.mu.Lock()
	g.pending = append(g.pending, c)
	if !g.busy {
		g.busy = true
		g.working.Go(g.empty)
	}
	g.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { g.leave(c) })
	defer stop()
	<-c.done
	if c.err != nil && ctx.Err() != nil {
		return c.out, context.Cause(ctx)
	}
	return c.out, c.err
}

// leave is called when a caller's context has ended.
func (g *group[In, Out]) leave(c *call[In, Out]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := slices.Index(g.pending, c); at >= 0 {
		g.pending = slices.Delete(g.pending, at, at+1)
		c.err = context.Canceled
		close(c.done)
	} else if c.batch != nil {
		if c.batch.staying--; c.batch.staying == 0 {
			c.batch.cancel()
		}
	}
}

// empty commits batch after batch until nothing is pending.
func (g *group[In, Out]) empty() {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		calls := g.next(cancel)
		if calls == nil {
			cancel()
			return
		}
		g.serve(ctx, calls)
		cancel()
		for _, c := range calls {
			close(c.done)
		}
	}
}

// next takes what fits together, in the order that it came.
func (g *group[In, Out]) next(cancel context.CancelFunc) []*call[In, Out] {
	g.mu.Lock()
	defer g.mu.Unlock()
	var calls, left []*call[In, Out]
	var ins []In
	for _, c := range g.pending {
		if len(calls) == 0 || g.fits(ins, c.in) {
			calls, ins = append(calls, c), append(ins, c.in)
		} else {
			left = append(left, c)
		}
	}
	g.pending = left
	g.busy = len(calls) > 0
	together := &batch{cancel: cancel, staying: len(calls)}
	for _, c := range calls {
		c.batch = together
	}
	return calls
}

// serve commits calls together. When one of them spoils it, each is tried alone,
// so that only the one at fault hears of it.
func (g *group[In, Out]) serve(ctx context.Context, calls []*call[In, Out]) {
	ins := make([]In, len(calls))
	for i, c := range calls {
		ins[i] = c.in
	}
	outs, errs, err := g.commit(ctx, ins)
	if err != nil && len(calls) > 1 && !errors.Is(err, jobs.ErrUnavailable) && ctx.Err() == nil {
		for _, c := range calls {
			g.serve(ctx, []*call[In, Out]{c})
		}
		return
	}
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", jobs.ErrUnavailable, err) // nobody's own time was over
	}
	for i, c := range calls {
		if err != nil {
			c.err = err
		} else {
			c.out, c.err = outs[i], errs[i]
		}
	}
}
