package originals

import (
	"container/list"
	"strings"
	"time"

	"github.com/spillway-media/spillway/internal/source"
)

// entry is what is known of one reference. It is busy while it has users, and
// idle, in the order of last use, while it is only remembered.
type entry struct {
	key     string // the reference's group: a hash, so of one length
	users   int    // questions, holds on editions, and callers looking at it
	current *edition
	asking  *question     // the question under way; nil without one
	pause   time.Time     // until when its origin is left alone, where something stale will do
	idle    *list.Element // in Store.idle
	charge  int64         // what it counts there
}

// edition is one version of an original. It is attached while it is its
// entry's current one; only then are its bytes kept.
type edition struct {
	of      *entry
	meta    source.Meta
	at      time.Time // when its origin was last asked and vouched for it
	holders int       // handles, questions about it or answered by it
	pins    int       // writers that read its body
	flow    *flow     // its bytes on their way; nil before and after
	body    *body     // its bytes, once they are there
	kept    *list.Element
	saved   bool // the disk has, or will have, its bytes
}

// enter finds or makes the entry of key and takes a use of it.
func (s *Store) enter(key string) *entry {
	e := s.entries[key]
	if e == nil {
		e = &entry{key: key}
		s.entries[key] = e
	}
	s.wakeUp(e)
	e.users++
	return e
}

// leave gives a use back. With the last one the entry is remembered or not.
func (s *Store) leave(e *entry) {
	e.users--
	if e.users > 0 {
		return
	}
	if ed := e.current; ed == nil || s.closed || !s.cfg.mayKeep(ed.meta) || !ed.recognisable() {
		s.forget(e)
		return
	}
	e.charge = entryOverhead + lengthOf(e.current.meta)
	e.idle = s.idle.PushFront(e)
	s.idleBytes += e.charge
	for s.idle.Len() > s.cfg.Kept || s.idleBytes > int64(s.cfg.Kept)*entryOverhead*2 {
		s.forget(s.idle.Back().Value.(*entry))
	}
}

// entryOverhead is what an entry takes beside its texts, rounded up.
const entryOverhead = 768

// lengthOf is what an origin can make long.
func lengthOf(m source.Meta) int64 {
	return int64(len(m.Host) + len(m.Name) + len(m.ETag) + len(m.Redirected) + len(m.ContentType))
}

// owned has texts of its own: a name is a piece of the reference it stood in,
// which must not stay as long as what is remembered of it.
func owned(m source.Meta) source.Meta {
	for _, text := range []*string{&m.Host, &m.Name, &m.ETag, &m.Redirected, &m.ContentType} {
		*text = strings.Clone(*text)
	}
	return m
}

// recognisable tells whether bytes that come later can be known to be this
// edition's: by a validator, or because they are here already.
func (ed *edition) recognisable() bool {
	return ed.meta.Validator() != "" || ed.body != nil || ed.flow != nil
}

func (ed *edition) attached() bool { return ed.of.current == ed }

// wakeUp takes an entry out of the idle ones.
func (s *Store) wakeUp(e *entry) {
	if e.idle == nil {
		return
	}
	s.idle.Remove(e.idle)
	s.idleBytes -= e.charge
	e.idle = nil
}

// forget makes an entry as if nobody had ever asked for it. Users of a busy
// one go on with what they hold.
func (s *Store) forget(e *entry) {
	s.wakeUp(e)
	s.detach(e)
	if e.users == 0 {
		delete(s.entries, e.key)
	}
}

// detach takes the current edition away; its bytes are not kept any more.
func (s *Store) detach(e *entry) {
	ed := e.current
	if ed == nil {
		return
	}
	e.current = nil
	s.unkeep(ed)
}

// attach makes ed the current edition instead of what was. What the disk has
// of the old one is of no use; the new one is written once it is complete.
func (s *Store) attach(ed *edition) {
	e := ed.of
	if old := e.current; old != nil {
		s.unsave(old)
		s.detach(e)
	}
	e.current = ed
}

// hold takes a reference.
func (s *Store) hold(ed *edition) {
	ed.holders++
	ed.of.users++
}

// drop gives a reference back; the last one ends the fetch.
func (s *Store) drop(ed *edition) {
	ed.holders--
	if ed.holders == 0 {
		if ed.flow != nil {
			s.giveUp(ed.flow)
			ed.flow = nil
		}
		s.release(ed)
	}
	s.leave(ed.of)
}

// release gives the bytes back when nobody needs them any more. An idle
// entry that was good for its bytes only is forgotten with them.
func (s *Store) release(ed *edition) {
	if ed.body == nil || ed.holders > 0 || ed.pins > 0 {
		return
	}
	if ed.kept != nil {
		s.rubbish = append(s.rubbish, ed.body.rest)
		return
	}
	s.rubbish = append(s.rubbish, ed.body.release)
	ed.body = nil
	if ed.of.idle != nil && ed.attached() && !ed.recognisable() {
		s.forget(ed.of)
	}
}
