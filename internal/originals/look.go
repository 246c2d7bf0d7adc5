package originals

import (
	"context"
	"time"

	"github.com/spillway-media/spillway/internal/source"
)

// startLook is for files, which every Open looks at by itself: that costs less
// than waiting for somebody else, and who has just written a file gets it.
func (s *Store) startLook(ed *edition) (begun, error) {
	if err := s.takePlace(); err != nil {
		return begun{}, err
	}
	s.hold(ed)
	return begun{file: ed}, nil
}

// look asks whether the file of base is still the same. It takes over the
// hold on base and a place among the fetches.
func (s *Store) look(ref string, base *edition) (*Original, error) {
	ctx, cancel := context.WithCancelCause(s.lasting)
	sent := time.Now()
	s.mu.Lock()
	have := base.meta
	s.mu.Unlock()
	object, err := s.inquire(ctx, ref, have)
	now := time.Now()
	s.mu.Lock()
	defer s.unlock()
	defer s.drop(base)
	s.counts.Revalidated++
	if err == nil && !object.Unchanged {
		s.counts.Changed++
		return s.handle(s.seen(base.of, object, cancel, sent), ref, false, now), nil
	}
	s.fetches--
	cancel(nil)
	if err != nil {
		s.disown(base, err)
		return nil, err
	}
	s.renew(base, object.Meta, sent)
	return s.handle(base, ref, false, now), nil
}

// seen is the edition of a file that was found changed: the current one when
// somebody else has found the same already.
func (s *Store) seen(e *entry, object *source.Object, cancel context.CancelCauseFunc, sent time.Time) *edition {
	ed := e.current
	if ed == nil || !sameVersion(ed.meta, object.Meta) {
		return s.publish(e, object, cancel, sent, true)
	}
	s.refuse(object, cancel)
	return ed
}

// sameVersion is false where versions cannot be told apart.
func sameVersion(a, b source.Meta) bool {
	return a.Validator() != "" && a.Validator() == b.Validator()
}
