package transform

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/elastic"
	"github.com/spillway-media/spillway/internal/media"
)

// turn is work on its way through the pool. It waits for a worker, a CPU slot
// and its decoded bytes, then runs on the worker, which keeps all three until
// the work has really returned, however long ago the client left.
type turn struct {
	work   func(ctx context.Context, t *turn)
	cancel context.CancelCauseFunc // ends the wait, and the work

	state atomic.Int32  // of the values below: who moves it from inLine decides
	begun chan struct{} // closed when work begins
	ended chan struct{} // closed when work has returned
	began time.Time     // set before begun is closed
	took  atomic.Int64  // nanoseconds; 0 while it works
}

const (
	inLine int32 = iota
	atWork
	gone
)

func (t *turn) elapsed() time.Duration {
	if took := t.took.Load(); took != 0 {
		return time.Duration(took)
	}
	return time.Since(t.began)
}

// stamp fixes how long the work took, the first time.
func (t *turn) stamp() { t.took.CompareAndSwap(0, int64(max(time.Since(t.began), 1))) }

// poolName is what the workers are called in metrics and reasons.
const poolName = "images"

// handOver is the least patience: a free slot is given by a worker, and there
// may have to be another one first.
const handOver = time.Second

// targetWait is far below what a picture takes. A worker more costs next to
// nothing: the gate sees to it that no more decode at once than may.
const targetWait = 5 * time.Millisecond

// errLeft is the cancel cause when nobody wants the result any more.
var errLeft = media.Errorf(media.CodeCancelled, "Nobody waits for the picture any more.")

// newPool makes the workers, which nobody has started, and the gate that keeps
// them within slots and memory however many there are.
func newPool(c Config, perform elastic.Handler[*turn]) (*elastic.DynamicScaler[*turn], *elastic.Gate, error) {
	gate, err := elastic.NewGate(elastic.GateConfig{Slots: c.Jobs, Memory: c.MemoryBudget})
	if err != nil {
		return nil, nil, err
	}
	least, most := c.workers()
	target := c.Scale.TargetWait
	if target == 0 {
		target = targetWait
	}
	pool, err := elastic.New(elastic.Config[*turn]{
		Name: poolName, Handler: perform, CPUBound: true, Gate: gate,
		MinWorkers: least, MaxWorkers: most, QueueSize: c.Jobs + c.Queue,
		Signal: c.Scale.Signal, TargetWait: target, CheckInterval: c.Scale.Check,
		ScaleCooldown: c.Scale.Cooldown, KeepIdle: c.Scale.KeepIdle, RetireGrace: c.Scale.RetireGrace,
	})
	return pool, gate, err
}

// begin queues work and returns once it has begun, perhaps even ended, or with
// the reason why it never will. ctx ends the wait as well as the work.
func (s *Service) begin(ctx context.Context, bytes int64, work func(ctx context.Context, t *turn)) (*turn, error) {
	if bytes > s.cfg.MemoryBudget {
		err := media.Errorf(media.CodeMemory,
			"Decoding this picture needs about %d MB; at most %d MB may be used.", bytes>>20, s.cfg.MemoryBudget>>20)
		s.counts.record(err)
		return nil, err
	}
	if s.closing.Load() {
		return nil, errStopping
	}
	if err := s.line.enter(); err != nil {
		s.counts.record(err)
		return nil, err
	}
	wish, cancel := context.WithCancelCause(ctx)
	t := &turn{work: work, cancel: cancel, begun: make(chan struct{}), ended: make(chan struct{})}
	ticket, err := s.pool.Enqueue(wish, t, elastic.Weight(bytes))
	if err != nil {
		err = s.refusal(wish, err)
		s.line.left(!errors.Is(err, errStopping))
	} else if err = s.await(wish, t, ticket); err == nil {
		return t, nil
	}
	cancel(err)
	s.counts.record(err)
	return nil, err
}

// await blocks until the turn has come, ctx ends or patience is used up.
func (s *Service) await(ctx context.Context, t *turn, ticket *elastic.Ticket) (err error) {
	timer := time.NewTimer(max(s.cfg.QueueWait, handOver))
	defer timer.Stop()
	select {
	case <-t.begun:
		return nil
	case <-ticket.Done():
		err = s.refusal(ctx, ticket.Err())
	case <-ctx.Done():
		err = ended(ctx, "The request ended while it waited for its turn.")
	case <-timer.C:
		err = media.Errorf(media.CodeOverloaded, "The server is busy: no turn came within %s.", s.cfg.QueueWait)
	}
	if !t.state.CompareAndSwap(inLine, gone) {
		<-t.begun // the turn came in between; where ctx ended, so does the work
		return nil
	}
	t.cancel(err) // out of the gate, and out of the queue at once
	ticket.Withdraw()
	s.line.left(true)
	return err
}

// refusal puts into our words why the pool would not have the work.
func (s *Service) refusal(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ended(ctx, "The request ended while it waited for its turn.")
	case errors.Is(err, elastic.ErrShuttingDown) && s.expired.Load():
		return errStopped
	case errors.Is(err, elastic.ErrShuttingDown):
		return errStopping
	}
	return media.Wrap(media.CodeOverloaded, err, "The server is busy: no turn came in time.")
}

// perform is what a worker does with a turn it has got slot and memory for.
func (s *Service) perform(ctx context.Context, t *turn) (err error) {
	if !t.state.CompareAndSwap(inLine, atWork) {
		return nil
	}
	t.began = time.Now()
	s.line.began(t.began)
	close(t.begun)
	defer func() {
		t.stamp()
		s.line.ended(time.Now(), t.elapsed())
		t.cancel(nil)
		close(t.ended)
	}()
	return s.guard(func() error { t.work(ctx, t); return nil })
}

// guard turns a panic into an error: it costs one request, not the process.
func (s *Service) guard(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("engine panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = media.Wrap(media.CodeEncodeFailed, fmt.Errorf("panic: %v", p), "The picture could not be made.")
		}
	}()
	return work()
}

// stopped tells why the context of running work is over.
func stopped(ctx context.Context) error {
	cause := context.Cause(ctx)
	var coded *media.Error
	switch {
	case errors.As(cause, &coded):
		return coded
	case errors.Is(cause, elastic.ErrShuttingDown):
		return errStopped
	}
	return errLeft
}
