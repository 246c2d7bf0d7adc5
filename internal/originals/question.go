package originals

import (
	"context"
	"errors"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
)

// question is one request for an original's headers and those who wait for
// its answer.
type question struct {
	of      *entry
	ref     string
	cancel  context.CancelCauseFunc
	waiters int
	done    chan struct{} // closed when answer or err is set
	answer  *edition      // held by the question until its last waiter took it
	err     error
}

// errAbandoned ends what nobody waits for.
var errAbandoned = errors.New("nobody wants the source any more")

// begin asks about ref. The request outlives ctx, whose values it has.
func (s *Store) begin(ctx context.Context, e *entry, ref string) (*question, error) {
	if s.fetches >= s.cfg.Fetches {
		return nil, media.Errorf(media.CodeOverloaded, "The server is busy: %d sources are being read already.", s.fetches)
	}
	s.fetches++
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	q := &question{of: e, ref: ref, cancel: cancel, done: make(chan struct{})}
	e.asking = q
	e.users++
	go s.ask(own, q)
	return q, nil
}

func (s *Store) ask(ctx context.Context, q *question) {
	object, err := s.guarded(ctx, func(ctx context.Context) (*source.Object, error) { return s.opener.Open(ctx, q.ref) })
	if err == nil && object.Size > s.cfg.SourceBytes {
		err = errors.Join(tooLarge(s.cfg.SourceBytes), object.Body.Close())
	}
	s.mu.Lock()
	defer s.unlock()
	defer close(q.done)
	defer s.leave(q.of)
	if q.of.asking == q {
		q.of.asking = nil
	}
	if err != nil {
		s.fetches--
		q.cancel(nil)
		q.err = asSourceError(err)
		return
	}
	q.answer = s.publish(q, object)
	if q.waiters == 0 {
		s.drop(q.answer)
	}
}

// publish makes an edition of an opened object; the question holds it.
func (s *Store) publish(q *question, object *source.Object) *edition {
	ed := &edition{of: q.of, ref: q.ref, meta: object.Meta}
	ed.flow = &flow{object: object, cancel: q.cancel, done: make(chan struct{})}
	s.hold(ed)
	return ed
}

// await waits for the answer as one of the question's waiters.
func (s *Store) await(ctx context.Context, q *question) (*Original, error) {
	select {
	case <-q.done:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.unlock()
	q.waiters--
	select {
	case <-q.done:
	default:
		s.abandon(q)
		return nil, ended(ctx)
	}
	if q.err != nil {
		return nil, q.err
	}
	o := s.handle(q.answer)
	if q.waiters == 0 {
		s.drop(q.answer)
	}
	return o, nil
}

// abandon ends a question once nobody waits for it; who comes now asks anew.
func (s *Store) abandon(q *question) {
	if q.waiters > 0 {
		return
	}
	if q.of.asking == q {
		q.of.asking = nil
	}
	q.cancel(errAbandoned)
}
