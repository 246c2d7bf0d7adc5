package transform

import (
	"context"
	"fmt"
	"io"

	"github.com/spillway-media/spillway/internal/media"
)

// load is what a flight, one run of the engine, carries. The flight owns the
// source bytes and the writing ends of its outputs, and gives them back when
// the engine has really returned, not when a client stops waiting.
type load struct {
	key     string
	source  *original
	overlay *original // nil without a watermark
	plan    *media.Plan
	outputs []*Output
}

// depart waits for a turn and returns once the engine runs; from then on
// everything in work belongs to the flight. It outlives the call that started
// it, but not the wish: ctx ends it, and so do Result.Close, the time limit
// and the service's stop.
func (s *Service) depart(ctx context.Context, memory int64, work load) (*turn, error) {
	return s.begin(ctx, memory, func(ctx context.Context, t *turn) { s.fly(ctx, t, work) })
}

func (s *Service) fly(ctx context.Context, t *turn, work load) {
	defer work.source.close()
	defer work.overlay.close()
	defer func() {
		for _, o := range work.outputs {
			o.finish(errUnmade) // after a panic; otherwise it has ended
			o.spool.Release()   // the writer's reference
		}
	}()
	limit := s.cfg.Limits.Time
	run, stop := context.WithTimeoutCause(ctx, limit,
		media.Errorf(media.CodeTimeout, "The transform took longer than %s.", limit))
	defer stop()
	// Some encoders cannot be stopped. Whoever waits is told all the same;
	// the worker and the buffers stay with the work until it really ends.
	untell := context.AfterFunc(run, func() {
		for _, o := range work.outputs {
			o.finish(stopped(run))
		}
	})
	defer untell()
	err := s.guard(func() error { return s.runEngine(run, work) })
	t.stamp()
	s.counts.record(err)
	for _, o := range work.outputs {
		o.finish(err)
	}
	if err == nil {
		s.remember(work)
	}
}

var errUnmade = media.Errorf(media.CodeEncodeFailed, "The picture could not be made.")

// runEngine turns every way the engine can end into an error with a code.
func (s *Service) runEngine(ctx context.Context, work load) error {
	begun := 0
	var unwritten error
	err := s.engine.Run(ctx, work.source.bytes, work.overlay.data(), work.plan,
		func(i int, made Made) (io.Writer, error) {
			if i < 0 || i >= len(work.outputs) {
				return nil, fmt.Errorf("engine began output %d of %d", i, len(work.outputs))
			}
			if !work.outputs[i].start(made) {
				return nil, stopped(ctx)
			}
			begun++
			return &noted{work.outputs[i].spool, &unwritten}, nil
		})
	switch {
	case unwritten != nil && ctx.Err() == nil:
		// The engine only knows that a write failed; the spool knows why.
		return asMediaError(unwritten)
	case err == nil && begun != len(work.outputs):
		return errUnmade
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

func (o *original) data() []byte {
	if o == nil {
		return nil
	}
	return o.bytes
}

// remember puts a finished result into the cache when it may enter. Bytes
// whose end cannot be told from a cut are served but never kept.
func (s *Service) remember(work load) {
	if work.source.meta.OpenEnded || work.overlay != nil && work.overlay.meta.OpenEnded {
		return
	}
	var total int64
	for _, o := range work.outputs {
		total += o.spool.Size()
	}
	if s.cache.limit == 0 || !s.cache.fits(total) {
		return
	}
	e := &entry{key: work.key, format: work.plan.Outputs[0].Encode.Format, info: work.plan.Info, source: int64(len(work.source.bytes))}
	for _, o := range work.outputs {
		data, err := o.spool.Bytes()
		if err != nil {
			return
		}
		e.outputs = append(e.outputs, cachedPicture{made: o.made, data: append([]byte(nil), data...)})
	}
	s.cache.put(e)
}
