package originals

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spillway-media/spillway/internal/source"
)

// Original is a share in an original: its headers now, its bytes after Load.
// Its methods are safe for concurrent use.
type Original struct {
	store *Store
	ed    *edition
	ref   string
	meta  source.Meta
	stale bool

	// Guarded by store.mu.
	bytes  []byte
	fault  error // what Load gave; it does not change its mind
	closed bool
}

// handle makes a share of ed as of now.
func (s *Store) handle(ed *edition, ref string, stale bool, now time.Time) *Original {
	s.hold(ed)
	if stale {
		s.counts.Stale++
	}
	return &Original{store: s, ed: ed, ref: ref, meta: aged(ed.meta, now.Sub(ed.at)), stale: stale}
}

// Meta is what is known before the bytes. Its times of reuse are as of now
// and not as of when the origin was asked.
func (o *Original) Meta() source.Meta { return o.meta }

// Stale tells that the original is used beyond its freshness, while its
// origin is asked or because it cannot be.
func (o *Original) Stale() bool { return o.stale }

// Version tells one state of the original from the next: the origin's own
// validator, or the hash of the bytes, which it then loads, where it has none
// or they may be a part of what it stands for.
func (o *Original) Version(ctx context.Context) (string, error) {
	if v := o.meta.Validator(); v != "" && !o.meta.OpenEnded {
		return v, nil
	}
	if err := o.Load(ctx); err != nil {
		return "", err
	}
	o.store.mu.Lock()
	b := o.ed.body
	o.store.mu.Unlock()
	if b == nil {
		return "", errClosed()
	}
	return b.hash(), nil
}

// Load waits until all bytes are there. Those who want them share one
// download; ctx ends only the waiting of this caller. Errors are *media.Error;
// see ErrChanged.
func (o *Original) Load(ctx context.Context) error {
	f, err := o.flow()
	if f == nil {
		return err
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return ended(ctx)
	}
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	switch {
	case o.closed:
		return errClosed()
	case f.err != nil:
		o.fault = f.err
		return f.err
	}
	o.bytes = o.ed.body.bytes
	return nil
}

// flow is what to wait for. There is nothing to wait for when the bytes are
// there, or cannot come.
func (o *Original) flow() (*flow, error) {
	s := o.store
	s.mu.Lock()
	defer s.unlock()
	switch {
	case o.closed:
		return nil, errClosed()
	case o.fault != nil:
		return nil, o.fault
	case o.ed.body != nil:
		o.bytes = o.ed.body.bytes
		s.keep(o.ed)
		return nil, nil
	}
	f, err := s.fetch(o.ed, o.ref)
	o.fault = err
	return f, err
}

func errClosed() error { return fmt.Errorf("load source: %w", os.ErrClosed) }

// Bytes are the whole original after Load, nil before. They are shared: they
// must not be changed, and not be touched after Close.
func (o *Original) Bytes() []byte {
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	return o.bytes
}

// Idle tells that the bytes will not be touched for a while, as when their
// turn has not come: those of a spool on disk leave the memory of the process,
// until they are touched again.
func (o *Original) Idle() {
	o.store.mu.Lock()
	var body *body
	if !o.closed {
		body = o.ed.body
	}
	o.store.mu.Unlock()
	if body != nil && body.rest != nil {
		body.rest()
	}
}

// Retain gives another share of the same state, to be closed on its own. It
// must not come after Close.
func (o *Original) Retain() *Original {
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	other := *o
	if !o.closed {
		o.store.hold(o.ed)
	}
	return &other
}

// Close gives the share back; what is still being fetched ends with the last
// one. Closing twice, or nil, does nothing.
func (o *Original) Close() {
	if o == nil {
		return
	}
	o.store.mu.Lock()
	defer o.store.unlock()
	if o.closed {
		return
	}
	o.closed, o.bytes = true, nil
	o.store.drop(o.ed)
}
