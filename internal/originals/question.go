package originals

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-media/spillway/internal/source"
)

// question is one request about an original and those who wait for its
// answer. It uses its entry until its goroutine ends.
type question struct {
	of      *entry
	ref     string
	base    *edition    // what is known already, held; nil when nothing is
	have    source.Meta // of base
	cancel  context.CancelCauseFunc
	waiters int
	// forgotten means that nobody may come to know the answer but those who
	// wait already: they have left, or all known before was purged.
	forgotten bool

	done   chan struct{} // closed once answer or err is set
	answer *edition      // held for as long as there are waiters
	stale  bool          // the origin is unavailable, and answer is old
	err    error
}

// errAbandoned ends what nobody waits for.
var errAbandoned = errors.New("nobody wants the source any more")

// begin asks about ref, on a context of its own.
func (s *Store) begin(e *entry, ref string) (*question, error) {
	if err := s.takePlace(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(s.lasting)
	q := &question{of: e, ref: ref, base: e.current, cancel: cancel, done: make(chan struct{})}
	if q.base != nil {
		s.hold(q.base)
		q.have = q.base.meta
	}
	e.asking = q
	e.users++
	s.work.Go(func() { s.ask(ctx, q) })
	return q, nil
}

// ask looks on the disk when memory had nothing, and then asks the origin.
func (s *Store) ask(ctx context.Context, q *question) {
	if q.base == nil && s.recall(q) {
		return
	}
	sent := time.Now()
	object, err := s.inquire(ctx, q.ref, q.have)
	now := time.Now()
	s.mu.Lock()
	defer s.unlock()
	s.resolve(q, object, err, sent, now)
	s.close(q)
}

// inquire asks the origin, on condition that have is outdated where that can
// be told. What may be cut is no base for a condition. Errors have a code.
func (s *Store) inquire(ctx context.Context, ref string, have source.Meta) (*source.Object, error) {
	object, err := s.open(ctx, ref, have)
	if err == nil && !object.Unchanged && object.Size > s.cfg.SourceBytes {
		err = errors.Join(tooLarge(s.cfg.SourceBytes), object.Body.Close())
	}
	if err != nil {
		return nil, asSourceError(err)
	}
	return object, nil
}

func (s *Store) open(ctx context.Context, ref string, have source.Meta) (object *source.Object, err error) {
	defer s.recovered(&err)
	conditional, ok := s.opener.(source.Conditional)
	if ok && have.Validator() != "" && !have.OpenEnded {
		return conditional.OpenIf(ctx, ref, have)
	}
	return s.opener.Open(ctx, ref)
}

// resolve makes the origin's word the answer.
func (s *Store) resolve(q *question, object *source.Object, err error, sent, now time.Time) {
	if q.base != nil {
		s.counts.Revalidated++
	}
	if err == nil && !object.Unchanged {
		if q.base != nil && !sameVersion(q.base.meta, object.Meta) {
			s.counts.Changed++
		}
		q.answer = s.publish(q.of, object, q.cancel, sent, !q.forgotten)
		s.hold(q.answer)
		return
	}
	s.fetches--
	q.cancel(nil)
	switch {
	case err == nil:
		s.renew(q.base, object.Meta, sent)
		q.answer = q.base
	case source.Unavailable(err) && !q.forgotten && q.base != nil && s.cfg.helpsOut(q.base.meta, q.base.at, now):
		q.answer, q.stale = q.base, true
		q.of.pause = now.Add(quiet)
	default:
		q.err = err
		s.disown(q.base, err)
		return
	}
	s.hold(q.answer)
}

// renew notes that the origin has vouched for an edition again.
func (s *Store) renew(ed *edition, meta source.Meta, sent time.Time) {
	s.counts.Unchanged++
	if sent.Before(ed.at) {
		return // somebody has asked later, and knows already
	}
	ed.meta, ed.at = owned(meta), sent
	if !s.cfg.mayKeep(meta) {
		s.unsave(ed)
		s.unkeep(ed)
	}
}

// disown forgets an edition of which the origin says, in whatever words, that
// it is not there any more. Trouble on the way says nothing about it.
func (s *Store) disown(ed *edition, err error) {
	if ed != nil && ed.attached() && isVerdict(err) {
		s.unsave(ed)
		s.detach(ed.of)
	}
}

// close tells the waiters and ends the question.
func (s *Store) close(q *question) {
	if q.of.asking == q {
		q.of.asking = nil
	}
	if q.answer != nil && q.waiters == 0 {
		s.drop(q.answer)
	}
	if q.base != nil {
		s.drop(q.base)
	}
	close(q.done)
	s.leave(q.of)
}

// await waits for the answer as one of the question's waiters.
func (s *Store) await(ctx context.Context, q *question) (*Original, error) {
	select {
	case <-q.done:
	case <-ctx.Done():
	}
	now := time.Now()
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
	o := s.handle(q.answer, q.ref, q.stale, now)
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
	q.forgotten = true
	if q.of.asking == q {
		q.of.asking = nil
	}
	q.cancel(errAbandoned)
}
