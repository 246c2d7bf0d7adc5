package originals

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-media/spillway/internal/source"
)

// mostBehind bounds the questions that nobody waits for. An original that
// finds no place among them is asked about when it is used next.
const mostBehind = 16

// quiet is how long an origin that could not be asked is left alone where there
// is something stale to use instead.
const quiet = time.Second

// Run does what nobody waits for: it writes to the disk and lets originals be
// asked about behind those who use them. It blocks until ctx ends. Then the
// store refuses and ends everything, gives back what it keeps, and Run returns
// when no goroutine of the store is left; so let ctx end after the last
// request. What callers still hold stays theirs until they close it.
func (s *Store) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.running || s.closed {
		s.mu.Unlock()
		return errors.New("originals run already, or have ended")
	}
	s.running = true
	s.mu.Unlock()
	s.save(ctx)
	s.stop()
	s.halt(errStopping)
	s.work.Wait()
	return nil
}

// stop lets go of everything that is only kept.
func (s *Store) stop() {
	s.mu.Lock()
	defer s.unlock()
	s.running, s.closed = false, true
	for _, ed := range s.unsaved {
		ed.pins--
		ed.saved = false
		s.release(ed)
	}
	s.unsaved, s.waiting = nil, 0
	for _, e := range s.entries {
		s.forget(e)
	}
}

// Purge forgets the originals of a group, as cache.Group names it, or all
// with "". Who holds one goes on with it, but nothing that was asked or
// fetched before is used for those who come now. With "" the disk is left to
// whoever purges it.
func (s *Store) Purge(group string) {
	s.mu.Lock()
	defer s.unlock()
	if group != "" {
		if s.disk != nil {
			key := s.diskKey(group)
			s.rubbish = append(s.rubbish, func() { s.disk.Delete(key) })
		}
		if e := s.entries[group]; e != nil {
			s.purge(e)
		}
		return
	}
	for _, e := range s.entries {
		s.purge(e)
	}
}

func (s *Store) purge(e *entry) {
	if e.asking != nil {
		e.asking.forgotten = true
		e.asking = nil
	}
	s.forget(e)
}

// askBehind lets an origin be asked while its original is used, unless that
// is being done, was in vain a moment ago, or too much of it goes on.
func (s *Store) askBehind(e *entry, ref string, now time.Time) {
	if !s.running || e.asking != nil || now.Before(e.pause) || s.behind >= mostBehind {
		return
	}
	q, err := s.begin(e, ref)
	if err != nil {
		return // all places are taken: whoever comes next tries again
	}
	q.waiters++
	e.users++
	s.behind++
	s.counts.Behind++
	s.work.Go(func() { s.follow(e, q) })
}

// follow waits for a question in the background. A new version is fetched as
// well where it can be kept, so that whoever comes next need not wait.
func (s *Store) follow(e *entry, q *question) {
	o, err := s.await(s.lasting, q)
	if err == nil && !o.stale && s.worthFetching(o) {
		err = o.Load(s.lasting)
	}
	o.Close()
	now := time.Now()
	s.mu.Lock()
	defer s.unlock()
	s.behind--
	if err != nil {
		e.pause = now.Add(quiet)
	}
	s.leave(e)
}

// worthFetching is false for what is here already, is no news, or could not
// be kept until somebody wants it.
func (s *Store) worthFetching(o *Original) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ed := o.ed
	if ed.flow == nil || !ed.attached() || !s.cfg.mayKeep(ed.meta) {
		return false
	}
	return s.disk != nil && ed.meta.Kind != source.KindFile || s.fits(held(ed.meta.Size))
}
