package originals

import (
	"context"
	"errors"
	"io"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
)

// flow is a body on its way from the origin. It is opened and waits until
// somebody wants the bytes; then a goroutine of its own reads them.
type flow struct {
	object *source.Object
	cancel context.CancelCauseFunc
	begun  bool
	done   chan struct{} // closed when the bytes are there, or err is set
	err    error
}

// giveUp ends a flow that nobody waits for. One that has begun is ended by
// its goroutine.
func (s *Store) giveUp(f *flow) {
	f.cancel(errAbandoned)
	if f.begun {
		return
	}
	s.fetches--
	// Nothing was read, so a failing close loses nothing.
	s.rubbish = append(s.rubbish, func() { _ = f.object.Body.Close() })
}

// carry reads a body and hands it to all who hold the edition.
func (s *Store) carry(f *flow, ed *edition) {
	b, err := s.read(f.object)
	f.cancel(nil)
	s.mu.Lock()
	defer s.unlock()
	defer close(f.done)
	s.fetches--
	f.err = err
	switch {
	case ed.flow != f && b != nil: // all holders have left
		s.rubbish = append(s.rubbish, b.release)
	case ed.flow == f && b == nil:
		ed.flow, ed.failed = nil, f
	case ed.flow == f:
		ed.flow, ed.body = nil, b
	}
}

// read brings a body whole into a spool; only a complete one is a body.
func (s *Store) read(object *source.Object) (*body, error) {
	sp := s.spools.New(s.cfg.SourceBytes)
	n, err := io.Copy(sp, object.Body)
	err = errors.Join(err, object.Body.Close())
	if err == nil && object.Size >= 0 && n != object.Size {
		err = media.Errorf(media.CodeSourceFailed, "The source ended after %d of %d bytes.", n, object.Size)
	}
	if err == nil && n == 0 {
		err = media.Errorf(media.CodeUnsupported, "The source is empty; an image was expected.")
	}
	err = sp.Finish(err)
	var b *body
	if err == nil {
		b, err = newSpoolBody(sp)
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
