package originals

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
)

// flow is a body on its way. Opened by a question it waits until somebody
// wants the bytes; of what is only remembered, it is opened when somebody
// does. From then on a goroutine of its own has it. It has a place among the
// fetches until it ends.
type flow struct {
	object *source.Object // opened, nothing read; nil when it is still to be opened
	cancel context.CancelCauseFunc
	begun  bool
	unread *time.Timer   // begins it unasked; nil when it begins at once
	done   chan struct{} // closed when the edition has its bytes, or err is set
	err    error
}

// unreadFor is how long an opened body waits for somebody to want it. It takes
// a place at its origin, for which others wait who may have one, too: were it
// not read to its end sooner or later, all could wait for each other. Most are
// closed before, since a tag or a cache had the answer.
const unreadFor = 100 * time.Millisecond

// publish makes an edition of an object that is open now. It is the current
// one from here on unless nobody may come to know of it.
func (s *Store) publish(e *entry, object *source.Object, cancel context.CancelCauseFunc, sent time.Time, known bool) *edition {
	f := &flow{object: object, cancel: cancel, done: make(chan struct{})}
	ed := &edition{of: e, meta: owned(object.Meta), at: sent, flow: f}
	f.unread = time.AfterFunc(unreadFor, func() {
		s.mu.Lock()
		defer s.unlock()
		if ed.flow == f && !f.begun && !s.closed {
			s.read(f, ed)
		}
	})
	if known && !s.closed {
		s.attach(ed)
	}
	return ed
}

// read begins a flow whose body is open.
func (s *Store) read(f *flow, ed *edition) {
	f.begin()
	s.work.Go(func() { s.carry(f, ed, f.object) })
}

func (f *flow) begin() {
	f.begun = true
	f.unread.Stop()
}

// giveUp ends a flow that nobody waits for. One that has begun is ended by
// its goroutine.
func (s *Store) giveUp(f *flow) {
	if f.begun {
		f.cancel(errAbandoned)
		return
	}
	f.unread.Stop()
	s.refuse(f.object, f.cancel)
}

// refuse closes an object that nobody wants and gives its place back. Nothing
// of it was read, so a failing close loses nothing.
func (s *Store) refuse(object *source.Object, cancel context.CancelCauseFunc) {
	cancel(errAbandoned)
	s.fetches--
	s.rubbish = append(s.rubbish, func() { _ = object.Body.Close() })
}

// fetch makes sure that the bytes of ed are on their way.
func (s *Store) fetch(ed *edition, ref string) (*flow, error) {
	f := ed.flow
	switch {
	case f != nil && f.begun:
		return f, nil
	case s.closed:
		return nil, errStopping
	case f != nil:
		s.read(f, ed)
		return f, nil
	case !ed.attached() || !ed.recognisable():
		return nil, changed()
	}
	if err := s.takePlace(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(s.lasting)
	f = &flow{cancel: cancel, begun: true, done: make(chan struct{})}
	ed.flow = f
	have := ed.meta
	s.work.Go(func() { s.bring(ctx, f, ed, ref, have) })
	return f, nil
}

// carry reads what a question has opened.
func (s *Store) carry(f *flow, ed *edition, object *source.Object) {
	b, err := s.readAll(object)
	f.cancel(nil)
	s.mu.Lock()
	defer s.unlock()
	s.arrive(f, ed, b, err)
}

// bring fetches what is only remembered, from the disk or from its origin,
// which may have something else by now.
func (s *Store) bring(ctx context.Context, f *flow, ed *edition, ref string, have source.Meta) {
	if b := s.reload(ed.of.key, have); b != nil {
		f.cancel(nil)
		s.mu.Lock()
		defer s.unlock()
		ed.saved = true
		s.arrive(f, ed, b, nil)
		return
	}
	sent := time.Now()
	object, err := s.inquire(ctx, ref, source.Meta{})
	switch {
	case err != nil:
		f.cancel(nil)
		s.mu.Lock()
		defer s.unlock()
		s.disown(ed, err)
		s.arrive(f, ed, nil, err)
	case sameVersion(object.Meta, have):
		s.mu.Lock()
		if ed.flow == f && ed.at.Before(sent) {
			ed.meta, ed.at = owned(object.Meta), sent
		}
		s.mu.Unlock()
		s.carry(f, ed, object)
	default:
		s.bringOther(f, ed, object, sent)
	}
}

// bringOther makes what the origin has instead the current edition, and reads
// it on the spot: those who wanted the old one will want it when they open
// again, and must not meet a third version because nobody held this one.
func (s *Store) bringOther(f *flow, ed *edition, object *source.Object, sent time.Time) {
	s.mu.Lock()
	s.counts.Changed++
	wanted := ed.flow == f && ed.attached()
	s.arrive(f, ed, nil, changed())
	s.fetches++ // the object keeps the place
	if !wanted {
		defer s.unlock()
		s.refuse(object, f.cancel)
		return
	}
	other := s.publish(ed.of, object, f.cancel, sent, true)
	s.hold(other)
	own := other.flow
	own.begin()
	s.unlock()
	s.carry(own, other, object)
	s.mu.Lock()
	defer s.unlock()
	s.drop(other)
}

// arrive ends a flow: its edition has the bytes from here on, or its waiters
// learn why not.
func (s *Store) arrive(f *flow, ed *edition, b *body, err error) {
	s.fetches--
	f.err = err
	defer close(f.done)
	if ed.flow != f { // all holders have left
		if b != nil {
			s.rubbish = append(s.rubbish, b.release)
		}
		return
	}
	ed.flow, ed.body = nil, b
	switch {
	case b != nil:
		s.keep(ed)
		s.enqueue(ed)
	case ed.attached() && !ed.recognisable():
		s.detach(ed.of)
	}
}

// readAll brings a body whole into a spool; only a complete one is a body.
func (s *Store) readAll(object *source.Object) (*body, error) {
	sp := s.spools.New(s.cfg.SourceBytes)
	sp.Expect(object.Size)
	n, err := s.copyAll(sp, object.Body)
	if err == nil && object.Size >= 0 && n != object.Size {
		err = media.Errorf(media.CodeSourceFailed, "The source ended after %d of %d bytes.", n, object.Size)
	}
	if err == nil && n == 0 {
		err = media.Errorf(media.CodeUnsupported, "The source is empty; an image was expected.")
	}
	err = sp.Finish(err)
	var b *body
	if err == nil {
		b, err = spooled(sp)
	}
	if err == nil {
		return b, nil
	}
	sp.Release()
	switch {
	case errors.Is(err, spool.ErrTooLarge):
		return nil, tooLarge(s.cfg.SourceBytes)
	case errors.Is(err, spool.ErrFull):
		return nil, media.Wrap(media.CodeOverloaded, err, "The server is busy: its space for sources is used up.")
	}
	return nil, asSourceError(err)
}

func (s *Store) copyAll(sp *spool.Spool, in io.ReadCloser) (n int64, err error) {
	defer s.recovered(&err)
	defer func() { err = errors.Join(err, in.Close()) }()
	return io.Copy(sp, in)
}
