package transform

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/spillway-media/spillway/internal/cache"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/spool"
)

// shelf keeps finished results, in memory and on disk, each if there is any.
// Only complete results enter it; their keys hold the source's version, so an
// entry is never stale, at most unused.
type shelf struct {
	memory *cache.Memory[*stored] // nil: none
	disk   *cache.Disk            // nil: none
	writes chan write
	purges atomic.Uint64
	unkept atomic.Uint64 // not written, as too much was to be written already
	log    *slog.Logger
}

// stored is a result that somebody has made before.
type stored struct {
	stub
	pictures [][]byte
	release  func() // gives back what the pictures lie in
}

// stub is what is kept of a result besides its pictures.
type stub struct {
	ETag   string       `json:"etag"`
	Format media.Format `json:"format"`
	Info   media.Info   `json:"info"`
	Source int64        `json:"source"` // bytes of the source
	Made   []Made       `json:"made"`
	Thumb  bool         `json:"thumb,omitempty"` // the last picture is one
	Merged bool         `json:"merged,omitempty"`
}

// write is a result on its way to the disk. It holds the spools.
type write struct {
	key, group string
	outdated   *atomic.Bool // set by a purge
	stub       stub
	spools     []*spool.Spool
}

// pending bounds how many results wait for the disk: a slow one must not hold
// the memory of what was served long ago.
const pending = 64

func newShelf(memory int64, disk *cache.Disk, log *slog.Logger) *shelf {
	s := &shelf{disk: disk, writes: make(chan write, pending), log: log}
	if memory > 0 {
		// None takes more than an eighth, so that one large result does not
		// push out everything else.
		s.memory = cache.NewMemory[*stored](memory, memory/8)
	}
	return s
}

func (s *shelf) on() bool { return s.memory != nil || s.disk != nil }

// get gives a result, to be released, or nil.
func (s *shelf) get(key, group string) *stored {
	if s.memory != nil {
		if e, ok := s.memory.Get(key); ok {
			return e
		}
	}
	if s.disk == nil {
		return nil
	}
	asOf := s.purges.Load()
	entry, ok := s.disk.Get(key)
	if !ok {
		return nil
	}
	e := &stored{pictures: entry.Parts, release: entry.Close}
	if err := json.Unmarshal(entry.Meta, &e.stub); err != nil || len(e.Made) != len(entry.Parts) {
		// Of another version of the program, perhaps. It is of no use now.
		entry.Close()
		s.disk.Delete(key)
		return nil
	}
	s.promote(key, group, e, asOf)
	return e
}

// promote copies what was found on disk into memory, where it is asked for
// next, unless a purge has come since.
func (s *shelf) promote(key, group string, e *stored, asOf uint64) {
	if s.memory == nil || bytesIn(e.pictures) > s.memory.Stats().Limit/8 {
		return
	}
	s.memory.Put(key, group, e.copied(), bytesIn(e.pictures)+overhead)
	if s.purges.Load() != asOf {
		s.memory.Delete(key)
	}
}

// overhead is what an entry costs beside its bytes, rounded up.
const overhead = 1024

func (e *stored) copied() *stored {
	c := &stored{stub: e.stub, release: func() {}}
	for _, picture := range e.pictures {
		c.pictures = append(c.pictures, append([]byte(nil), picture...))
	}
	return c
}

func bytesIn(pictures [][]byte) (n int64) {
	for _, p := range pictures {
		n += int64(len(p))
	}
	return n
}

// put keeps a finished flight's result under key. Writing to the disk happens later: a
// client's last bytes do not wait for it, nor does the worker.
func (s *shelf) put(f *flight, key string, st stub) error {
	pictures := make([][]byte, 0, len(f.outputs))
	for _, o := range f.outputs {
		data, err := o.spool.Bytes()
		if err != nil {
			return err
		}
		pictures = append(pictures, data)
	}
	e := &stored{stub: st, pictures: pictures}
	if s.memory != nil && bytesIn(pictures) <= s.memory.Stats().Limit/8 {
		s.memory.Put(key, f.group, e.copied(), bytesIn(pictures)+overhead)
		if f.outdated.Load() {
			s.memory.Delete(key)
		}
	}
	if s.disk == nil {
		return nil
	}
	w := write{key: key, group: f.group, outdated: &f.outdated, stub: st}
	for _, o := range f.outputs {
		if o.spool.Retain() {
			w.spools = append(w.spools, o.spool)
		}
	}
	select {
	case s.writes <- w:
	default:
		s.unkept.Add(1)
		w.release()
	}
	return nil
}

func (w write) release() {
	for _, sp := range w.spools {
		sp.Release()
	}
}

// run writes to the disk what is waiting for it, until ctx ends, and then what
// is left.
func (s *shelf) run(ctx context.Context) {
	for {
		select {
		case w := <-s.writes:
			s.write(w)
		case <-ctx.Done():
			for {
				select {
				case w := <-s.writes:
					s.write(w)
				default:
					return
				}
			}
		}
	}
}

func (s *shelf) write(w write) {
	defer w.release()
	if w.outdated.Load() {
		return
	}
	meta, err := json.Marshal(w.stub)
	parts := make([][]byte, 0, len(w.spools))
	for _, sp := range w.spools {
		data, fault := sp.Bytes()
		err = errors.Join(err, fault)
		parts = append(parts, data)
	}
	if err == nil {
		err = s.disk.Put(w.key, w.group, meta, parts...)
	}
	if w.outdated.Load() {
		s.disk.Delete(w.key)
	}
	if err != nil && !errors.Is(err, cache.ErrTooLarge) {
		s.unkept.Add(1)
		s.log.Warn("result not kept on disk", slog.Any("error", err))
	}
}

// purge forgets the results of a source, or all of them. What the disk has is
// purged here as well: something may have been written since somebody else did.
func (s *shelf) purge(group string) {
	if s.disk != nil {
		if _, err := s.disk.Purge(group); err != nil && !errors.Is(err, cache.ErrClosed) {
			s.log.Warn("results not purged from disk", slog.Any("error", err))
		}
	}
	s.purges.Add(1)
	if s.memory != nil {
		s.memory.Purge(group)
	}
}
