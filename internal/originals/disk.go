package originals

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/spillway-media/spillway/internal/cache"
	"github.com/spillway-media/spillway/internal/source"
)

// record is what the disk tells of a body beside its bytes.
type record struct {
	Meta source.Meta
	At   time.Time // when its origin vouched for it
}

// diskKey is the name of an original's bytes. What another configuration
// fetched is never found: it may have been another bucket's, or from a host
// that is not allowed any more.
func (s *Store) diskKey(group string) string { return "original " + s.cfg.Scope + " " + group }

// find reads what the disk has of an original; a body without bytes or with
// another length than its origin told is none.
func (s *Store) find(group string) (record, *body) {
	if s.disk == nil {
		return record{}, nil
	}
	entry, ok := s.disk.Get(s.diskKey(group))
	if !ok {
		return record{}, nil
	}
	var r record
	if err := json.Unmarshal(entry.Meta, &r); err != nil || len(entry.Parts) != 1 || !r.fits(len(entry.Parts[0])) {
		entry.Close()
		s.disk.Delete(s.diskKey(group))
		return record{}, nil
	}
	return r, &body{bytes: entry.Parts[0], release: entry.Close, mapped: true}
}

func (r record) fits(n int) bool { return n > 0 && (r.Meta.Size < 0 || r.Meta.Size == int64(n)) }

// recall answers a question by what the disk has, if that needs no question;
// else it makes it the base of the question.
func (s *Store) recall(q *question) bool {
	r, b := s.find(q.of.key)
	if b == nil {
		return false
	}
	now := time.Now()
	s.mu.Lock()
	defer s.unlock()
	if q.forgotten || s.closed || !s.cfg.mayKeep(r.Meta) {
		s.rubbish = append(s.rubbish, b.release)
		return false
	}
	s.counts.FromDisk++
	ed := &edition{of: q.of, meta: r.Meta, at: r.At, body: b, saved: true}
	s.attach(ed)
	verdict := s.cfg.judge(r.Meta, r.At, now)
	if verdict == askFirst || verdict == useBehind && !s.running {
		s.hold(ed)
		q.base, q.have = ed, ed.meta
		return false
	}
	s.hold(ed)
	q.answer, q.stale = ed, verdict == useBehind
	s.fetches--
	q.cancel(nil)
	s.close(q)
	if q.stale {
		s.askBehind(q.of, q.ref, now)
	}
	return true
}

// reload gives the bytes of a remembered edition, if the disk has them.
func (s *Store) reload(group string, have source.Meta) *body {
	r, b := s.find(group)
	if b == nil {
		return nil
	}
	if !sameVersion(r.Meta, have) {
		b.release()
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.FromDisk++
	return b
}

// mostWaiting bounds the bytes that wait to be written: they stay in their
// spools until then. What does not fit is not written.
const mostWaiting = 64 << 20

// enqueue has the bytes of an edition written to disk. Files lie on one
// already.
func (s *Store) enqueue(ed *edition) {
	if s.disk == nil || !s.running || ed.saved || !ed.attached() || !s.cfg.mayKeep(ed.meta) || ed.meta.Kind == source.KindFile {
		return
	}
	size := int64(len(ed.body.bytes))
	if len(s.unsaved) > 0 && s.waiting+size > mostWaiting {
		return
	}
	ed.saved = true
	ed.pins++
	s.waiting += size
	s.unsaved = append(s.unsaved, ed)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// unsave takes back what the disk has, or is about to have. A write that is
// under way sees to it itself, as its edition is not attached any more.
func (s *Store) unsave(ed *edition) {
	if !ed.saved {
		return
	}
	ed.saved = false
	key := s.diskKey(ed.of.key)
	s.rubbish = append(s.rubbish, func() { s.disk.Delete(key) })
}

// save writes what waits until ctx ends.
func (s *Store) save(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		for ctx.Err() == nil && s.saveNext() {
			continue
		}
	}
}

func (s *Store) saveNext() bool {
	s.mu.Lock()
	if len(s.unsaved) == 0 {
		s.mu.Unlock()
		return false
	}
	ed := s.unsaved[0]
	s.unsaved = s.unsaved[1:]
	wanted, bytes, key := ed.saved && ed.attached(), ed.body.bytes, ed.of.key
	r := record{ed.meta, ed.at}
	s.mu.Unlock()
	var err error
	if wanted {
		err = s.put(key, r, bytes)
	}
	s.mu.Lock()
	defer s.unlock()
	s.waiting -= int64(len(bytes))
	ed.pins--
	switch {
	case wanted && err == nil && ed.saved && ed.attached():
		s.counts.Saved++
	case wanted && err == nil:
		ed.saved = true
		s.unsave(ed)
	default:
		ed.saved = false
	}
	s.release(ed)
	return true
}

func (s *Store) put(group string, r record, bytes []byte) error {
	meta, err := json.Marshal(r)
	if err == nil {
		err = s.disk.Put(s.diskKey(group), group, meta, bytes)
	}
	if err != nil && !errors.Is(err, cache.ErrTooLarge) && !errors.Is(err, cache.ErrFull) {
		s.log.Warn("source not kept on disk", "error", err)
	}
	return err
}
