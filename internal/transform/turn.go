package transform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/elastic"
	"github.com/spillway-media/spillway/internal/media"
)

// turn is work on its way through a pool. It waits for a worker, a CPU slot
// and its decoded bytes, then runs on the worker, which keeps all three until
// the work has really returned, however long ago the client left.
type turn struct {
	lane lane

	mu      sync.Mutex    // guards what follows
	cost    time.Duration // estimated; grows when more joins while it waits
	counted bool          // the line counts it among those that wait

	// weigh is asked when a worker has taken the turn: how many decoded bytes
	// the work will hold. From then on the work is settled.
	weigh func() (int64, error)
	work  func(ctx context.Context, t *turn)

	cancel  context.CancelCauseFunc // ends the wait, and the work
	arrived time.Time

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

// newTurn is work that weighs bytes whenever it is asked.
func newTurn(in lane, cost time.Duration, bytes int64, work func(ctx context.Context, t *turn)) *turn {
	t := &turn{
		lane: in, cost: cost, work: work, weigh: func() (int64, error) { return bytes, nil },
		begun: make(chan struct{}), ended: make(chan struct{}),
	}
	return t
}

// enter takes a place in line. From here until the turn leaves or begins the
// line counts what it costs, neither more nor less, whoever joins when.
func (t *turn) enter(l *line, now time.Time) (cost time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lane == background {
		return t.cost, nil
	}
	if err := l.enter(t.lane, t.cost, now); err != nil {
		return 0, err
	}
	t.counted = true
	return t.cost, nil
}

// grow is told of more that joins.
func (t *turn) grow(l *line, more time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cost += more
	if t.counted {
		l.grow(t.lane, more)
	}
}

// leave gives the place in line back, for a turn that never came.
func (t *turn) leave(l *line, refused bool, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counted {
		l.left(t.lane, t.cost, refused, now)
	}
	t.counted = false
}

// start moves the turn from the line to the workers, at what it costs.
func (t *turn) start(l *line, now time.Time) (cost time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counted {
		l.began(t.lane, t.cost, now)
	}
	t.counted = false
	return t.cost
}

func (t *turn) elapsed() time.Duration {
	if took := t.took.Load(); took != 0 {
		return time.Duration(took)
	}
	return time.Since(t.began)
}

// stamp fixes how long the work took, the first time.
func (t *turn) stamp() { t.took.CompareAndSwap(0, int64(max(time.Since(t.began), 1))) }

// handOver is the least patience: a free slot is given by a worker, and there
// may have to be another one first.
const handOver = time.Second

// targetWait is far below what a picture takes. A worker more costs next to
// nothing: the gate sees to it that no more decode at once than may.
const targetWait = 5 * time.Millisecond

// errLeft is the cancel cause when nobody wants the result any more.
var errLeft = media.Errorf(media.CodeCancelled, "Nobody waits for the picture any more.")

// backgroundQueue is how many pictures may wait in the background besides those
// that the line has: a few jobs with all their sizes.
const (
	backgroundQueue = 1024
	backgroundWait  = 5 * time.Minute
)

// crews are the workers of all lanes and the gate that keeps them within
// slots and memory however many there are.
type crews struct {
	pools [kinds]*elastic.DynamicScaler[*turn]
	gate  *elastic.Gate
}

func newCrews(c Config, perform elastic.Handler[*turn]) (crews, error) {
	gate, err := elastic.NewGate(elastic.GateConfig{Slots: c.Jobs, Memory: c.MemoryBudget})
	if err != nil {
		return crews{}, err
	}
	made := crews{gate: gate}
	least, most := c.workers()
	target := c.Scale.TargetWait
	if target == 0 {
		target = targetWait
	}
	for in := range kinds {
		most, queue := most, c.Jobs+c.Queue
		if in == background {
			most, queue = c.inBackground(most), queue+backgroundQueue
		}
		made.pools[in], err = elastic.New(elastic.Config[*turn]{
			Name: in.String(), Handler: perform, Gate: gate, GateShare: in.share(),
			Classes: classes, Ageing: headStart,
			MinWorkers: min(least, most), MaxWorkers: most, QueueSize: queue,
			Signal: c.Scale.Signal, TargetWait: target, CheckInterval: c.Scale.Check,
			ScaleCooldown: c.Scale.Cooldown, KeepIdle: c.Scale.KeepIdle, RetireGrace: c.Scale.RetireGrace,
		})
		if err != nil {
			return crews{}, err
		}
	}
	return made, nil
}

// each calls f for all pools at the same time and joins what they say.
func (c crews) each(f func(*elastic.DynamicScaler[*turn]) error) error {
	var errs [kinds]error
	var wait sync.WaitGroup
	for in, pool := range c.pools {
		wait.Go(func() { errs[in] = f(pool) })
	}
	wait.Wait()
	return errors.Join(errs[:]...)
}

// begin queues work and returns once it has begun, perhaps even ended, or with
// the reason why it never will. ctx ends the wait as well as the work.
func (s *Service) begin(ctx context.Context, t *turn) error {
	if s.closing.Load() {
		return errStopping
	}
	t.arrived = time.Now()
	cost, err := t.enter(s.line, t.arrived)
	if err != nil {
		return err
	}
	var wish context.Context
	wish, t.cancel = context.WithCancelCause(ctx)
	ticket, err := s.crews.pools[t.lane].Enqueue(wish, t, elastic.Class(classOf(cost)))
	if err != nil {
		err = s.refusal(wish, err)
		t.leave(s.line, !errors.Is(err, errStopping), time.Now())
	} else {
		err = s.await(wish, t, ticket)
	}
	if err != nil {
		t.cancel(err)
	}
	return err
}

// tooHeavy refuses what could never be given memory.
func (s *Service) tooHeavy(bytes int64) error {
	if bytes <= s.cfg.MemoryBudget {
		return nil
	}
	return media.Errorf(media.CodeMemory,
		"Decoding this picture needs about %d MB; at most %d MB may be used.", bytes>>20, s.cfg.MemoryBudget>>20)
}

// await blocks until the turn has come, ctx ends or patience is used up.
func (s *Service) await(ctx context.Context, t *turn, ticket *elastic.Ticket) (err error) {
	patience := s.cfg.QueueWait
	if t.lane == background {
		patience = cmp.Or(s.cfg.BackgroundWait, backgroundWait)
	}
	timer := time.NewTimer(max(patience, handOver))
	defer timer.Stop()
	select {
	case <-t.begun:
		return nil
	case <-ticket.Done():
		err = s.refusal(ctx, ticket.Err())
	case <-ctx.Done():
		err = ended(ctx, "The request ended while it waited for its turn.")
	case <-timer.C:
		err = media.Errorf(media.CodeOverloaded, "The server is busy: no turn came within %s.", patience)
	}
	if !t.state.CompareAndSwap(inLine, gone) {
		<-t.begun // the turn came in between; where ctx ended, so does the work
		return nil
	}
	t.cancel(err) // out of the gate, and out of the queue at once
	ticket.Withdraw()
	t.leave(s.line, true, time.Now())
	return err
}

// refusal puts into our words why the pool would not have the work.
func (s *Service) refusal(ctx context.Context, err error) error {
	var coded *media.Error
	switch {
	case errors.As(err, &coded):
		return coded
	case ctx.Err() != nil:
		return ended(ctx, "The request ended while it waited for its turn.")
	case errors.Is(err, elastic.ErrShuttingDown) && s.expired.Load():
		return errStopped
	case errors.Is(err, elastic.ErrShuttingDown):
		return errStopping
	}
	return media.Wrap(media.CodeOverloaded, err, "The server is busy: no turn came in time.")
}

// perform is what a worker does with a turn. Only here is it settled what the
// work is and whether it is still worth doing, so that what waits can change
// until the last moment.
func (s *Service) perform(ctx context.Context, t *turn) error {
	if t.state.Load() != inLine {
		return nil
	}
	now := time.Now()
	if limit, late := s.line.overdue(t.lane, now.Sub(t.arrived), now); late {
		return media.Errorf(media.CodeOverloaded, "The server is busy: no turn came within %s.", limit)
	}
	bytes, err := t.weigh()
	if err != nil {
		return err
	}
	leave, err := elastic.EnterCPU(ctx, bytes)
	if err != nil {
		return err
	}
	defer leave()
	if !t.state.CompareAndSwap(inLine, atWork) {
		return nil
	}
	t.began = time.Now()
	cost := t.start(s.line, t.began)
	close(t.begun)
	defer func() {
		t.stamp()
		if t.lane != background {
			s.line.ended(t.lane, cost, time.Now(), t.elapsed())
		}
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
