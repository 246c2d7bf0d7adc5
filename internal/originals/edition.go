package originals

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
)

// entry is what is known of one reference. It lives while somebody uses it.
type entry struct {
	key    string
	users  int       // questions, handles and callers that look at it
	asking *question // the question under way; nil without one
}

// enter finds or makes the entry of ref and takes a use of it.
func (s *Store) enter(ref string) *entry {
	e := s.entries[ref]
	if e == nil {
		e = &entry{key: ref}
		s.entries[ref] = e
	}
	e.users++
	return e
}

// leave gives a use back.
func (s *Store) leave(e *entry) {
	e.users--
	if e.users == 0 {
		delete(s.entries, e.key)
	}
}

// edition is one version of an original.
type edition struct {
	of      *entry
	ref     string
	meta    source.Meta
	holders int   // handles, and questions whose answer it is
	flow    *flow // its bytes on their way; nil before and after
	failed  *flow // how its flow ended, when it did not bring them
	body    *body // its bytes, once they are there
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
		if ed.body != nil {
			s.rubbish = append(s.rubbish, ed.body.release)
			ed.body = nil
		}
	}
	s.leave(ed.of)
}

// body is a complete original.
type body struct {
	bytes   []byte
	release func()
	once    sync.Once
	sum     string
}

func newSpoolBody(sp *spool.Spool) (*body, error) {
	bytes, err := sp.Bytes()
	if err != nil {
		return nil, err
	}
	return &body{bytes: bytes, release: sp.Release}, nil
}

// hash is computed once, by the first who asks.
func (b *body) hash() string {
	b.once.Do(func() {
		sum := sha256.Sum256(b.bytes)
		b.sum = hex.EncodeToString(sum[:])
	})
	return b.sum
}
