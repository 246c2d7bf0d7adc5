package postgres

import (
	"context"
	"errors"
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
	in   In
	out  Out
	err  error
	done chan struct{}
}

// do answers once what was asked for is committed. When ctx ends before the
// commit has begun nothing is done; when it ends during that it may be, or not.
func (g *group[In, Out]) do(ctx context.Context, in In) (Out, error) {
	var none Out
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	c := &call[In, Out]{in: in, done: make(chan struct{})}
	g.mu.Lock()
	g.pending = append(g.pending, c)
	if !g.busy {
		g.busy = true
		g.working.Go(g.empty)
	}
	g.mu.Unlock()
	select {
	case <-c.done:
		return c.out, c.err
	case <-ctx.Done():
		g.withdraw(c)
		return none, context.Cause(ctx)
	}
}

// withdraw takes back a call that is in no batch yet.
func (g *group[In, Out]) withdraw(c *call[In, Out]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending = slices.DeleteFunc(g.pending, func(other *call[In, Out]) bool { return other == c })
}

// empty commits batch after batch until nothing is pending.
func (g *group[In, Out]) empty() {
	for {
		batch := g.next()
		if batch == nil {
			return
		}
		g.serve(batch)
		for _, c := range batch {
			close(c.done)
		}
	}
}

// next takes what fits together, in the order that it came.
func (g *group[In, Out]) next() []*call[In, Out] {
	g.mu.Lock()
	defer g.mu.Unlock()
	var batch, left []*call[In, Out]
	var ins []In
	for _, c := range g.pending {
		if len(batch) == 0 || g.fits(ins, c.in) {
			batch, ins = append(batch, c), append(ins, c.in)
		} else {
			left = append(left, c)
		}
	}
	g.pending = left
	g.busy = len(batch) > 0
	return batch
}

// serve commits a batch. No caller's context bounds it, since others' calls are
// in it. When one call spoils it, each is tried alone, so that only the one
// at fault hears of it.
func (g *group[In, Out]) serve(batch []*call[In, Out]) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	ins := make([]In, len(batch))
	for i, c := range batch {
		ins[i] = c.in
	}
	outs, errs, err := g.commit(ctx, ins)
	if err != nil && len(batch) > 1 && !errors.Is(err, jobs.ErrUnavailable) {
		for _, c := range batch {
			g.serve([]*call[In, Out]{c})
		}
		return
	}
	for i, c := range batch {
		if err != nil {
			c.err = err
		} else {
			c.out, c.err = outs[i], errs[i]
		}
	}
}
