package httpapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"strconv"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// part is one picture on its way to the client. Its body has been looked
// into: there is a first byte.
type part struct {
	made  transform.Made
	bytes int64 // -1 while the whole is not known
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
			err = media.Errorf(media.CodeEncodeFailed, "An empty picture came out.")
		}
		return part{}, errors.Join(err, reader.Close())
	}
	p := part{made: made, bytes: -1, body: body, close: reader.Close}
	if n, complete := output.Size(); complete {
		p.bytes = n
	}
	return p, nil
}

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

// sendPicture streams one picture as it is made.
func sendPicture(x *exchange, all iter.Seq2[part, error]) error {
	for p, err := range all {
		if err != nil {
			return err
		}
		if p.bytes >= 0 {
			x.w.Header().Set("Content-Length", strconv.FormatInt(p.bytes, 10))
			_, err = io.Copy(x.w, p.body)
			return err
		}
		_, err = io.Copy(flushing{x.w}, p.body)
		return err
	}
	return nil
}
