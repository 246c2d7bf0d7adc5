package transform

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// flight is one run of the engine. It owns the permit, the source bytes and
// the writing ends of its outputs, and gives each back when the engine has
// really returned, not when a client stops waiting.
type flight struct {
	cancel context.CancelFunc
	began  time.Time
	took   atomic.Int64 // nanoseconds, 0 while running
}

func (f *flight) elapsed() time.Duration {
	if took := f.took.Load(); took != 0 {
		return time.Duration(took)
	}
	return time.Since(f.began)
}

// errLeft is the cancel cause when nobody wants the result any more.
var errLeft = media.Errorf(media.CodeCancelled, "Nobody waits for the picture any more.")

// depart starts the engine for one job and returns at once. original and
// overlay pass into the flight's ownership, as does release.
func (s *Service) depart(ctx context.Context, work load) *flight {
	// The work outlives the call that started it, but not the wish: ctx ends
	// it, and so do Result.Close, the time limit and the service's stop.
	limit := s.cfg.Limits.Time
	run, stop := context.WithTimeoutCause(context.WithoutCancel(ctx), limit,
		media.Errorf(media.CodeTimeout, "The transform took longer than %s.", limit))
	run, cancel := context.WithCancelCause(run)
	unlink := context.AfterFunc(ctx, func() { cancel(errLeft) })
	unstop := context.AfterFunc(s.base, func() { cancel(context.Cause(s.base)) })
	// Some encoders cannot be stopped. Whoever waits is told all the same;
	// the permit and the buffers stay with the work until it really ends.
	untell := context.AfterFunc(run, func() {
		for _, o := range work.outputs {
			o.finish(asMediaError(context.Cause(run)))
		}
	})
	f := &flight{began: time.Now(), cancel: func() { cancel(errLeft) }}
	go func() { // admit counted it among the flights; release takes it out
		defer work.release()
		defer func() { unlink(); unstop(); untell(); cancel(nil); stop() }()
		s.fly(run, f, work)
	}()
	return f
}

// load is what a flight carries.
type load struct {
	key     string
	source  *original
	overlay *original // nil without a watermark
	plan    *media.Plan
	outputs []*Output
	release func()
}

func (s *Service) fly(ctx context.Context, f *flight, work load) {
	defer work.source.close()
	defer work.overlay.close()
	err := s.runEngine(ctx, work)
	f.took.Store(int64(max(time.Since(f.began), 1)))
	s.counts.record(err)
	for _, o := range work.outputs {
		o.finish(err)
	}
	if err == nil {
		s.remember(work)
	}
	for _, o := range work.outputs {
		o.spool.Release() // the writer's reference
	}
}

// runEngine turns every way the engine can end into an error with a code.
func (s *Service) runEngine(ctx context.Context, work load) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("engine panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = media.Wrap(media.CodeEncodeFailed, fmt.Errorf("panic: %v", p), "The picture could not be made.")
		}
	}()
	begun := 0
	var unwritten error
	err = s.engine.Run(ctx, work.source.bytes, work.overlay.data(), work.plan,
		func(i int, made Made) (io.Writer, error) {
			if i < 0 || i >= len(work.outputs) {
				return nil, fmt.Errorf("engine began output %d of %d", i, len(work.outputs))
			}
			if !work.outputs[i].start(made) {
				return nil, context.Cause(ctx)
			}
			begun++
			return &noted{work.outputs[i].spool, &unwritten}, nil
		})
	switch {
	case unwritten != nil && ctx.Err() == nil:
		// The engine only knows that a write failed; the spool knows why.
		return asMediaError(unwritten)
	case err == nil && begun != len(work.outputs):
		return media.Errorf(media.CodeEncodeFailed, "The picture could not be made.")
	case err == nil:
		return nil
	case ctx.Err() != nil:
		// Whatever the engine says of being stopped, the reason for the stop
		// is the better answer.
		return asMediaError(context.Cause(ctx))
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
