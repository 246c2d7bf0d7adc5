package originals

import (
	"context"
	"errors"

	"github.com/spillway-media/spillway/internal/source"
)

// ErrChanged means that the origin has another version by now than the one
// that was opened, and that the bytes of the opened one cannot be had any
// more. Whatever was decided by Meta and Version must be decided anew: Open
// again, then close this one (in this order, the new version's fetch, which
// is under way already, is shared). It is the cause of a *media.Error, so
// errors.Is finds it.
var ErrChanged = errors.New("source changed after it was opened")

// Original is a share in an original: its headers now, its bytes after Load.
// Its methods are safe for concurrent use until Close.
type Original struct {
	store  *Store
	ed     *edition
	meta   source.Meta
	stale  bool
	bytes  []byte // guarded by store.mu
	closed bool   // guarded by store.mu
}

// handle makes a share. The caller holds mu.
func (s *Store) handle(ed *edition) *Original {
	s.hold(ed)
	return &Original{store: s, ed: ed, meta: ed.meta}
}

// Meta is what is known before the bytes.
func (o *Original) Meta() source.Meta { return o.meta }

// Stale tells that the original is used beyond its freshness.
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
	return b.hash(), nil
}

// Load waits until all bytes are there. Those who want them share one
// download; ctx ends only the waiting of this caller. Errors are *media.Error;
// see ErrChanged.
func (o *Original) Load(ctx context.Context) error {
	f := o.flow()
	if f == nil {
		return nil
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return ended(ctx)
	}
	if f.err != nil {
		return f.err
	}
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	o.bytes = o.ed.body.bytes
	return nil
}

// flow is what to wait for, or nil when the bytes are there.
func (o *Original) flow() *flow {
	s := o.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.ed.body != nil {
		o.bytes = o.ed.body.bytes
		return nil
	}
	if o.ed.failed != nil {
		return o.ed.failed
	}
	f := o.ed.flow
	if !f.begun {
		f.begun = true
		go s.carry(f, o.ed)
	}
	return f
}

// Bytes are the whole original after Load, nil before. They are shared: they
// must not be changed, and not be touched after Close.
func (o *Original) Bytes() []byte {
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	return o.bytes
}

// Retain gives another share of the same state, to be closed on its own.
func (o *Original) Retain() *Original {
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	o.store.hold(o.ed)
	return &Original{store: o.store, ed: o.ed, meta: o.meta, stale: o.stale, bytes: o.bytes}
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
