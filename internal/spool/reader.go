package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// chunkSize is how much WriteTo moves at once: large enough to hide the cost
// of a call, small enough that a cancelled context is seen soon.
const chunkSize = 64 << 10

// Reader follows a spool from its first byte. One goroutine reads; Close may
// come from any.
type Reader struct {
	ctx    context.Context //nolint:containedctx // ends every blocking call; io.Reader has no parameter for it
	spool  *Spool
	offset int64
	once   sync.Once
	closed chan struct{}
}

// Reader starts at the first byte. It holds a reference until Close. Its
// reads block for more bytes, end with io.EOF only after Finish(nil), with
// the writer's error after Finish(err), and with ctx's cause when ctx ends.
func (s *Spool) Reader(ctx context.Context) *Reader {
	r := &Reader{ctx: ctx, spool: s, closed: make(chan struct{})}
	if !s.Retain() {
		// Without a reference there is none to give back.
		r.once.Do(func() {})
	}
	return r
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := r.begin(); err != nil {
		return 0, err
	}
	defer r.spool.Release()
	for {
		n, err := r.spool.readAt(p, r.offset)
		r.offset += int64(n)
		if n > 0 || err != nil {
			return n, err
		}
		if err := r.spool.wait(r.ctx, r.offset+1, r.closed); err != nil {
			return 0, err
		}
	}
}

// begin takes a reference for one call, so that a Close meanwhile cannot
// free what is being copied.
func (r *Reader) begin() error {
	select {
	case <-r.closed:
		return fmt.Errorf("read spool: %w", os.ErrClosed)
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	default:
	}
	if !r.spool.Retain() {
		return ErrReleased
	}
	return nil
}

// readAt copies what is there. It gives 0 and nil when the writer may still
// bring more, and the end (io.EOF or the writer's error) only with 0 bytes.
func (s *Spool) readAt(p []byte, offset int64) (int, error) {
	s.mu.Lock()
	left := s.size - offset
	if left == 0 {
		defer s.mu.Unlock()
		return 0, s.end()
	}
	p = p[:min(int64(len(p)), left)]
	buf, file, stable := s.buf, s.file, s.finished
	if file == nil && !stable {
		defer s.mu.Unlock()
		return copy(p, buf[offset:]), nil
	}
	s.mu.Unlock()
	if file == nil {
		return copy(p, buf[offset:]), nil
	}
	n, err := file.ReadAt(p, offset)
	if err != nil {
		return n, fmt.Errorf("read spool file: %w", brokenFile(err))
	}
	return n, nil
}

// brokenFile keeps the end of a file that should be longer from looking like
// the end of the bytes.
func brokenFile(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// end is what a reader meets behind the last byte. The caller holds mu.
func (s *Spool) end() error {
	if s.finished && s.err == nil {
		return io.EOF
	}
	return s.err
}

// WriteTo implements io.WriterTo: it moves everything up to the end. Writers
// only ever see a copy: some still look at it after they have returned, such as
// an HTTP/2 stream that was reset, and the spool's own memory may be gone then.
func (r *Reader) WriteTo(w io.Writer) (int64, error) {
	chunk := r.spool.pool.chunk.Get().(*[chunkSize]byte)
	defer r.spool.pool.chunk.Put(chunk)
	start := r.offset
	for {
		more, err := r.writeChunk(w, chunk[:])
		if err != nil || !more {
			return r.offset - start, err
		}
	}
}

// writeChunk is one round of WriteTo. The end is no error here, so that an
// io.EOF of w's is never taken for it.
func (r *Reader) writeChunk(w io.Writer, chunk []byte) (more bool, err error) {
	got, err := r.Read(chunk)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.offset -= int64(got) // counted again below, when it is really written
	n, err := w.Write(chunk[:got])
	r.offset += int64(n)
	if err == nil && n < got {
		err = io.ErrShortWrite
	}
	return true, err
}

// Close gives the reference back and ends a Read that blocks. It never fails.
func (r *Reader) Close() error {
	r.once.Do(func() {
		close(r.closed)
		r.spool.Release()
	})
	return nil
}
