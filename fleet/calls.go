package fleet

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Time limits of what may block.
const (
	databaseTime  = 20 * time.Second
	redisTime     = 5 * time.Second
	inventoryTime = 30 * time.Second
	launchTime    = 45 * time.Second
	endTime       = 20 * time.Second
	notifyTime    = 30 * time.Second
	// lingering is how long after its time a call may take to notice.
	lingering = 2 * time.Second
	// mostHanging is how many calls of one callee may not have come back; then it
	// is not called again until one has.
	mostHanging = 4
)

// calls bounds calls of what is not this package's, even of one that does not
// honour its context: that one is left behind, and counted.
type calls struct {
	running sync.WaitGroup
	mu      sync.Mutex
	hanging map[string]int // guarded by mu: calls left behind, by callee
}

func newCalls() *calls { return &calls{hanging: map[string]int{}} }

// bounded calls f, and answers when it has, or when its time is long over.
func bounded[T any](ctx context.Context, c *calls, callee string, within time.Duration, f func(context.Context) (T, error)) (T, error) {
	var zero T
	if n := c.left(callee, 0); n >= mostHanging {
		return zero, fmt.Errorf("call %s: %d earlier calls have not come back", callee, n)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	call := &call[T]{back: make(chan struct{})}
	c.running.Go(func() {
		defer cancel()
		call.value, call.err = f(ctx)
		if call.settle() { // nobody waits for it any more
			c.left(callee, -1)
		}
		close(call.back)
	})
	select {
	case <-call.back:
		return call.value, call.err
	case <-ctx.Done():
	}
	patience := time.NewTimer(lingering)
	defer patience.Stop()
	select {
	case <-call.back:
		return call.value, call.err
	case <-patience.C:
	}
	c.left(callee, 1)
	if call.settle() { // it has come back at this moment
		c.left(callee, -1)
		<-call.back
		return call.value, call.err
	}
	return zero, fmt.Errorf("call %s: no answer within %v: %w", callee, within, context.DeadlineExceeded)
}

// call is one that runs: the caller and the called settle who was first.
type call[T any] struct {
	settled atomic.Bool
	back    chan struct{} // closed when value and err may be read
	value   T
	err     error
}

// settle is true for the second of the two.
func (c *call[T]) settle() bool { return !c.settled.CompareAndSwap(false, true) }

// left adds to the calls that were left behind, and answers how many there are.
func (c *calls) left(callee string, n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hanging[callee] += n
	return c.hanging[callee]
}

// wait answers when every call has come back, or after a while.
func (c *calls) wait(within time.Duration) {
	done := make(chan struct{})
	go func() { c.running.Wait(); close(done) }()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
