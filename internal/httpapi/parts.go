package httpapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// part is one picture on its way to the client. Its body has been looked
// into: there is a first byte.
type part struct {
	made  transform.Made
	body  io.Reader
	close func() error
}

// openPart waits for an output's first byte.
func openPart(ctx context.Context, output *transform.Output) (part, error) {
	made, err := output.Ready(ctx)
	if err != nil {
		return part{}, err
	}
	reader := output.Reader(ctx)
	body := bufio.NewReader(reader)
	if _, err := body.Peek(1); err != nil {
		if errors.Is(err, io.EOF) {
			err = errEmpty
		}
		return part{}, errors.Join(err, reader.Close())
	}
	return part{made: made, body: body, close: reader.Close}, nil
}

var errEmpty = media.Errorf(media.CodeEncodeFailed, "An empty picture came out.")

// parts gives first, then each of the others as it is wanted, in the order
// asked. It closes what it gave; an error is the last thing it gives.
func parts(ctx context.Context, first part, others []*transform.Output) iter.Seq2[part, error] {
	return func(yield func(part, error) bool) {
		more := yield(first, nil)
		// Closing a reader only gives its buffer back.
		_ = first.close()
		for _, output := range others {
			if !more {
				return
			}
			p, err := openPart(ctx, output)
			if err != nil {
				yield(part{}, err)
				return
			}
			more = yield(p, nil)
			_ = p.close()
		}
	}
}

// sendPicture answers one picture: as it is made, or from what is there when
// that is all of it. A part of it can only be told of the whole.
func (s *Server) sendPicture(x *exchange, w *wish, result *transform.Result) error {
	output := result.Outputs[0]
	marked := x.marked(w, result.Format)
	// JPEG XL comes in one piece, whose length tells where its preview ends.
	if wantsRange(x.r) || marked && result.Format == media.JXL {
		if err := output.Whole(x.r.Context()); err != nil {
			return err
		}
	}
	if stored, whole := output.Stored(); whole {
		size, _ := output.Size()
		if size == 0 {
			return errEmpty
		}
		s.setBodyHeaders(x, w, result)
		if marked {
			return sendStored(x, stored, size, result.Format)
		}
		return sendStored(x, stored, size, "")
	}
	p, err := openPart(x.r.Context(), output)
	if err != nil {
		return err
	}
	// Closing a reader only gives its buffer back.
	defer func() { _ = p.close() }()
	s.setBodyHeaders(x, w, result)
	to := &flushing{to: x.w, rec: x.w, behind: func(sent int64) bool {
		made, _ := output.Size()
		return sent < made
	}}
	if !marked {
		_, err = io.Copy(to, p.body)
		return err
	}
	inPhases := newPhased(x.w, result.Format)
	to.to = inPhases
	if _, err = io.Copy(to, p.body); err != nil {
		return err
	}
	return inPhases.end()
}
