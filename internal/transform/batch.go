package transform

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sync"

	"github.com/spillway-media/spillway/internal/media"
)

// batch is one run of the engine: one flight, or several of one source that
// were waiting at the same moment and can share a decode. It is open for more
// until a worker takes it.
type batch struct {
	key string // empty when nothing can join
	set *batches

	// Guarded by the mu of batches until the work has begun, alive also
	// afterwards. plan is the worker's once it has taken the batch.
	flights []*flight
	plan    *media.Plan
	alive   int

	ctx    context.Context //nolint:containedctx // ends when all flights have
	cancel context.CancelCauseFunc
	turn   *turn
	// service is whose flights they are.
	service *Service
}

// batches are those that wait.
type batches struct {
	mu     sync.Mutex
	open   map[string]*batch
	merged uint64
}

func (bs *batches) stats() (merged uint64) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	return bs.merged
}

// add puts a flight into a batch that waits, or into a new one, which the
// caller sends off.
func (bs *batches) add(s *Service, f *flight) (b *batch, fresh bool) {
	key := f.plan.Steps()
	if f.plan.KeepsOriginal() || f.outdated.Load() {
		// It may be answered by its source, or has bytes that are no good for others.
		key = ""
	}
	if key != "" {
		key = f.job.Ref + " " + f.versions + " " + key
		if f.job.Background {
			key = "background " + key // nobody who is in a hurry gets into it
		}
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if b = bs.open[key]; key == "" || b == nil || !b.take(f, s.cfg.MemoryBudget) {
		b, fresh = bs.newBatch(s, key, f), true
	}
	context.AfterFunc(f.ctx, b.drop)
	return b, fresh
}

// purge lets nothing join the batches of a group, or any with an empty one.
func (bs *batches) purge(group string) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	for key, b := range bs.open {
		if group == "" || len(b.flights) > 0 && b.flights[0].group == group {
			delete(bs.open, key)
		}
	}
}

func (bs *batches) newBatch(s *Service, key string, f *flight) *batch {
	b := &batch{key: key, set: bs, flights: []*flight{f}, plan: f.plan, alive: 1, service: s}
	b.ctx, b.cancel = context.WithCancelCause(context.WithoutCancel(f.ctx))
	b.turn = newTurn(laneOf(f.plan, f.job.Background), f.plan.Cost, 0, func(ctx context.Context, _ *turn) { s.fly(ctx, b) })
	b.turn.weigh = b.weigh
	f.turn = b.turn
	if key != "" {
		bs.open[key] = b
	}
	return b
}

// take lets a flight join when that saves work. The caller holds mu.
func (b *batch) take(f *flight, budget int64) bool {
	if b.alive == 0 || b.turn.state.Load() != inLine {
		return false // it is about to be given up, but not for anything f has done
	}
	plan, ok := media.Merge(b.plan, f.plan)
	if !ok || plan.Memory+max(f.marked, b.flights[0].marked) > budget || laneOf(plan, f.job.Background) != b.turn.lane {
		return false
	}
	b.turn.grow(b.service.line, plan.Cost-b.plan.Cost)
	b.plan, b.flights = plan, append(b.flights, f)
	b.alive++
	b.set.merged++
	f.turn = b.turn
	return true
}

// drop is told of every flight that has ended; the last ends the batch.
func (b *batch) drop() {
	b.set.mu.Lock()
	b.alive--
	last := b.alive == 0
	b.set.mu.Unlock()
	if last {
		b.cancel(errLeft)
	}
}

func (b *batch) seal() {
	b.set.mu.Lock()
	defer b.set.mu.Unlock()
	if b.set.open[b.key] == b {
		delete(b.set.open, b.key)
	}
}

// weigh settles what is made: nothing joins any more, and what nobody wants is
// left out. A flight that is alone after all is made as if it had always been.
func (b *batch) weigh() (int64, error) {
	wanted, unwanted := b.settle()
	for _, f := range unwanted {
		b.service.fail(f, errLeft)
	}
	if len(wanted) == 0 {
		return 0, errLeft
	}
	plan, marked := wanted[0].plan, wanted[0].marked
	for _, f := range wanted[1:] {
		var ok bool
		if plan, ok = media.Merge(plan, f.plan); !ok {
			return 0, fmt.Errorf("merge what had been merged: %w", errUnmade)
		}
		marked = max(marked, f.marked)
	}
	b.plan = plan
	if len(wanted) > 1 {
		name(plan, wanted)
	}
	return plan.Memory + marked, nil
}

// settle lets nothing join any more and takes out what nobody wants. Each
// flight has one who ends it: whoever takes it out, or the work.
func (b *batch) settle() (wanted, unwanted []*flight) {
	b.seal()
	b.set.mu.Lock()
	defer b.set.mu.Unlock()
	for _, f := range b.flights {
		if f.ctx.Err() == nil {
			wanted = append(wanted, f)
		} else {
			unwanted = append(unwanted, f)
		}
	}
	b.flights = wanted
	return wanted, unwanted
}

// empty takes all flights out of a batch whose turn never comes. A worker may
// be weighing it at the same time.
func (b *batch) empty() []*flight {
	b.seal()
	b.set.mu.Lock()
	defer b.set.mu.Unlock()
	flights := b.flights
	b.flights = nil
	return flights
}

// name gives the flights tags of their own: what was loaded for the largest
// picture gives the others other bytes than they have alone.
func name(plan *media.Plan, flights []*flight) {
	h := sha256.New()
	fmt.Fprintf(h, "%v", plan.Load)
	for _, o := range plan.Outputs {
		fmt.Fprintf(h, "%v", o.Layout)
	}
	variant := hex.EncodeToString(h.Sum(nil)[:4])
	for _, f := range flights {
		f.etag, f.merged = f.key+"."+variant+f.variant, true
	}
}

// travel waits for the turn of a batch; what comes after it is the worker's.
func (s *Service) travel(b *batch) {
	err := s.begin(b.ctx, b.turn)
	if err == nil {
		return
	}
	for _, f := range b.empty() {
		s.fail(f, err)
	}
	b.cancel(err)
}

// fly is the work of a batch. Its flights own the source bytes and the writing
// ends of their outputs, and give them back when the engine has really
// returned, not when a client stops waiting.
func (s *Service) fly(ctx context.Context, b *batch) {
	defer b.cancel(nil)
	outputs := b.outputs()
	defer func() {
		for _, f := range b.flights {
			for _, o := range f.outputs {
				o.finish(errUnmade) // after a panic; otherwise it has ended
			}
			s.ended(f)
		}
	}()
	limit := s.cfg.Limits.Time
	run, stop := context.WithTimeoutCause(ctx, limit,
		media.Errorf(media.CodeTimeout, "The transform took longer than %s.", limit))
	defer stop()
	// Some encoders cannot be stopped. Whoever waits is told all the same;
	// the worker and the buffers stay with the work until it really ends.
	untell := context.AfterFunc(run, func() {
		for _, o := range outputs {
			o.finish(stopped(run))
		}
	})
	defer untell()
	err := s.guard(func() error { return s.runEngine(run, b, outputs) })
	b.turn.stamp()
	s.counts.record(err)
	for _, o := range outputs {
		o.finish(err)
	}
	if err == nil {
		for _, f := range b.flights {
			s.remember(f)
		}
	}
}

// outputs are those of all flights in the order of the merged plan.
func (b *batch) outputs() []*Output {
	var all []*Output
	for _, f := range b.flights {
		all = append(all, f.outputs...)
	}
	return all
}

var errUnmade = media.Errorf(media.CodeEncodeFailed, "The picture could not be made.")

// runEngine turns every way the engine can end into an error with a code.
func (s *Service) runEngine(ctx context.Context, b *batch, outputs []*Output) error {
	begun := 0
	var unwritten error
	first := b.flights[0]
	try := s.tryFirst(b)
	defer try.release()
	err := s.engine.Run(ctx, first.src.Bytes(), bytesOf(first.overlay), b.plan,
		func(i int, made Made) (io.Writer, error) {
			if i < 0 || i >= len(outputs) {
				return nil, fmt.Errorf("engine began output %d of %d", i, len(outputs))
			}
			if try != nil && i == 0 {
				begun++
				return &noted{try.begin(made), &unwritten}, nil
			}
			if !outputs[i].start(made) {
				return nil, stopped(ctx)
			}
			begun++
			if len(b.flights) > 1 {
				return &lone{outputs[i]}, nil
			}
			return &noted{outputs[i].spool, &unwritten}, nil
		})
	switch {
	case unwritten != nil && ctx.Err() == nil:
		// The engine only knows that a write failed; the spool knows why.
		return asMediaError(unwritten)
	case err == nil && begun != len(outputs):
		return errUnmade
	case err == nil && try != nil:
		return asMediaError(try.settle(outputs[0], first.src.Bytes(), b.plan.Info))
	case err == nil:
		return nil
	case ctx.Err() != nil:
		// Whatever the engine says of being stopped, the reason for the stop
		// is the better answer.
		return stopped(ctx)
	}
	return asMediaError(err)
}

// noted keeps the first error of a writer. Engines write from one goroutine.
type noted struct {
	to    io.Writer
	first *error
}

func (n *noted) Write(p []byte) (int, error) {
	written, err := n.to.Write(p)
	if err != nil && *n.first == nil {
		*n.first = err
	}
	return written, err
}

// lone writes one of several flights' outputs: when its bytes have no place,
// that is its own trouble and not its neighbours'.
type lone struct{ to *Output }

func (l *lone) Write(p []byte) (int, error) {
	if _, err := l.to.spool.Write(p); err != nil {
		l.to.finish(asMediaError(err))
	}
	return len(p), nil
}
