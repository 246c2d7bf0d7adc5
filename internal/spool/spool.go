package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Spool is an append-only run of bytes with one writer and many readers.
//
// It is reference counted: whoever uses it holds a reference from New, Retain
// or Reader, and the last Release gives memory, file and mapping back.
type Spool struct {
	pool  *Pool
	limit int64

	// writing is held by Write and Finish; it keeps them apart.
	writing  sync.Mutex
	failed   error // the first write that went wrong; guarded by writing
	expected int64 // bytes in all, as far as known; guarded by writing
	disk     int64 // bytes reserved on disk; guarded by writing, read by free
	present  int64 // how much of buf has its pages; guarded by writing

	// buf, file and size are changed by the holder of writing while it also
	// holds mu, so either lock is enough to read them. buf beyond size
	// belongs to the holder of writing.
	mu       sync.Mutex
	refs     int
	buf      []byte   // nil once on disk
	file     *os.File // nil while in memory
	size     int64
	finished bool
	err      error         // the writer's error, set with finished
	mapped   []byte        // made by the first Bytes of a spool on disk
	changed  chan struct{} // closed at the next change; nil when nobody waits
}

// Expect tells how many bytes are to come in all, where that is known before
// the first: room for them is then found once, in memory or on disk, and not
// step by step. It is a hint, which may be wrong.
func (s *Spool) Expect(n int64) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.limit > 0 {
		n = min(n, s.limit)
	}
	s.expected = max(n, 0)
}

// Write appends p whole or not at all. It waits for no reader. After an error
// the spool is spoilt: every later Write and Finish(nil) give that error.
func (s *Spool) Write(p []byte) (int, error) {
	if !s.Retain() {
		return 0, ErrReleased
	}
	defer s.Release()
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.finished {
		return 0, ErrFinished
	}
	if s.failed == nil {
		s.failed = s.write(p)
	}
	if s.failed != nil {
		return 0, s.failed
	}
	return len(p), nil
}

// ReadFrom appends what r gives until its end, a chunk at a time. It holds up
// nobody while it waits for r. It implements io.ReaderFrom for io.Copy.
func (s *Spool) ReadFrom(r io.Reader) (n int64, err error) {
	chunk := s.pool.chunk.Get().(*[chunkSize]byte)
	defer s.pool.chunk.Put(chunk)
	for {
		got, err := r.Read(chunk[:])
		if got > 0 {
			if _, err := s.Write(chunk[:got]); err != nil {
				return n, err
			}
			n += int64(got)
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err //nolint:wrapcheck // it is for the caller, as of io.Copy
		}
	}
}

func (s *Spool) write(p []byte) error {
	n := int64(len(p))
	if s.limit > 0 && n > s.limit-s.size {
		return fmt.Errorf("write %d bytes after %d of at most %d: %w", n, s.size, s.limit, ErrTooLarge)
	}
	if err := s.pool.checkOpen(); err != nil {
		return err
	}
	if err := s.makeRoom(n); err != nil {
		return err
	}
	if err := s.store(p); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size += n
	s.announce()
	return nil
}

// Finish ends the writing. With nil the bytes are declared complete and
// readers end with io.EOF; otherwise they end with err after the bytes
// written so far; an io.EOF becomes io.ErrUnexpectedEOF. Only the first call counts. It returns what readers will
// end with: not nil for a nil err when a Write had failed.
func (s *Spool) Finish(err error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.refs == 0:
		return ErrReleased
	case s.finished:
		return s.err
	case err == nil:
		err = s.failed
	case errors.Is(err, io.EOF):
		// A writer that stopped on somebody's end did not declare its own.
		err = io.ErrUnexpectedEOF
	}
	s.trim()
	s.finished, s.err = true, err
	s.announce()
	return err
}

// announce wakes all who wait. The caller holds mu.
func (s *Spool) announce() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Size is how many bytes were written so far.
func (s *Spool) Size() int64 {
	size, _, _ := s.State()
	return size
}

// State is the size so far, whether the writer has finished, and with which
// error.
func (s *Spool) State() (size int64, finished bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size, s.finished, s.err
}

// Wait blocks until at least n bytes are written or the writer has finished.
// It gives the writer's error as soon as there is one, and nil when the
// spool is complete with fewer than n bytes.
func (s *Spool) Wait(ctx context.Context, n int64) error {
	if err := s.wait(ctx, n, nil); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs == 0 {
		return ErrReleased
	}
	return s.err
}

// wait blocks until there are n bytes or will be no more. What ends it early
// is ctx or closed; the writer's error is for the caller to find.
func (s *Spool) wait(ctx context.Context, n int64, closed <-chan struct{}) error {
	for {
		changed := s.poll(n)
		if changed == nil {
			return nil
		}
		select {
		case <-changed:
		case <-closed:
			return fmt.Errorf("read spool: %w", os.ErrClosed)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// poll gives a channel to wait on, or nil when there is nothing to wait for.
func (s *Spool) poll(n int64) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs == 0 || s.finished || s.size >= n {
		return nil
	}
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// Bytes is the content of a complete spool in one piece: the buffer itself,
// or a read-only mapping of the file. The slice must not be changed, and not
// be touched after the reference it was asked under is released.
func (s *Spool) Bytes() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.refs == 0:
		return nil, ErrReleased
	case !s.finished:
		return nil, ErrUnfinished
	case s.err != nil:
		return nil, s.err
	}
	return s.contiguous()
}

// Retain takes another reference. It is false, and takes none, when the last
// one is gone already.
func (s *Spool) Retain() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs == 0 {
		return false
	}
	s.refs++
	return true
}

// Release gives a reference back; the last one frees the spool. Releasing a
// released spool does nothing.
func (s *Spool) Release() {
	s.mu.Lock()
	if s.refs == 0 {
		s.mu.Unlock()
		return
	}
	s.refs--
	last := s.refs == 0
	if last {
		s.announce()
	}
	s.mu.Unlock()
	if last {
		s.free()
	}
}
