package source

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spillway-media/spillway/internal/media"
)

// body is an original's bytes as the caller gets them: bounded, inflated,
// timed, and never ending early without an error.
type body struct {
	raw      io.Closer
	in       io.Reader
	transfer *transfer
	declared int64 // -1 when unknown or inflated
	inflated bool
	begun    bool
	got      int64
	err      error // what every further Read gives
	closed   bool
}

// newBody takes over raw and transfer. declared is the length of raw, or -1.
func newBody(raw io.ReadCloser, encoding string, declared int64, t *transfer) (*body, error) {
	b := &body{raw: raw, transfer: t, declared: declared}
	b.in = &boundedReader{in: newTimedReader(raw, t), left: t.cfg.MaxBytes, over: t.tooLarge()}
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
	case "gzip", "x-gzip":
		b.declared, b.inflated = -1, true
		b.in = &boundedReader{in: &gunzip{in: b.in}, left: t.cfg.MaxBytes, over: t.tooLarge()}
	default:
		return nil, errors.Join(media.Errorf(media.CodeSourceFailed,
			"The source on %s has the content encoding %q; gzip and none are supported.", t.host, shorten(encoding)), b.Close())
	}
	if declared > t.cfg.MaxBytes {
		return nil, errors.Join(t.tooLarge(), b.Close())
	}
	return b, nil
}

func (t *transfer) tooLarge() error {
	return media.Errorf(media.CodeSourceTooLarge, "The source is larger than the allowed %d bytes.", t.cfg.MaxBytes)
}

// Read implements io.Reader; see Opener for its errors.
func (b *body) Read(p []byte) (int, error) {
	if b.closed {
		return 0, fmt.Errorf("read source: %w", os.ErrClosed)
	}
	if b.err != nil {
		return 0, b.err
	}
	if !b.begun {
		b.begun = true
		if b.err = b.transfer.read(); b.err != nil {
			return 0, b.err
		}
	}
	n, err := b.in.Read(p)
	b.got += int64(n)
	switch {
	case err == io.EOF && b.declared >= 0 && b.got != b.declared:
		b.err = media.Wrap(media.CodeSourceFailed, trouble{io.ErrUnexpectedEOF}, "The source on %s ended after %d of %d bytes.", b.transfer.host, b.got, b.declared)
	case err == io.EOF:
		b.err = io.EOF
	case err != nil:
		b.err = b.transfer.fault(err)
	}
	return n, b.err
}

// Close implements io.Closer. Closing twice is fine.
func (b *body) Close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	b.transfer.leave(b.outcome())
	b.transfer.end()
	if err := b.raw.Close(); err != nil {
		return fmt.Errorf("close source: %w", err)
	}
	return nil
}

// outcome is what the body says of its origin: a fault that broke it, or
// nothing. One that was closed unread, as most are that turn out to be known,
// is a good one unless the client had left.
func (b *body) outcome() error {
	if errors.Is(b.err, io.EOF) {
		return nil
	}
	if b.err == nil && b.transfer.parent.Err() != nil {
		return callerFault(b.transfer.parent)
	}
	return b.err
}

// boundedReader gives at most left bytes and the error over instead of more.
type boundedReader struct {
	in   io.Reader
	left int64
	over error
}

func (r *boundedReader) Read(p []byte) (int, error) {
	// One byte more is asked for, to tell exactly full from too much.
	if int64(len(p)) > r.left+1 {
		p = p[:r.left+1]
	}
	n, err := r.in.Read(p)
	if int64(n) > r.left {
		n, err = int(r.left), r.over
	}
	r.left -= int64(n)
	return n, err
}

// gunzip inflates. It opens at the first Read, as the header may come late,
// and an empty input is a cut one.
type gunzip struct {
	in  io.Reader
	zip *gzip.Reader
}

func (g *gunzip) Read(p []byte) (int, error) {
	if g.zip == nil {
		zip, err := gzip.NewReader(g.in)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		g.zip = zip
	}
	return g.zip.Read(p)
}
