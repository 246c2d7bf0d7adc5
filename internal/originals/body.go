package originals

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/bits"
	"sync"

	"github.com/spillway-media/spillway/internal/spool"
)

// body is a complete original.
type body struct {
	bytes   []byte
	release func()
	rest    func() // told when it is only kept
	memory  int64  // what it counts while it is kept
	mapped  bool   // it is the disk's, which keeps it better than memory would

	once sync.Once
	sum  string
}

// spooled takes over a reference to a finished spool.
func spooled(sp *spool.Spool) (*body, error) {
	bytes, err := sp.Bytes()
	if err != nil {
		return nil, fmt.Errorf("read spool: %w", err)
	}
	return &body{bytes: bytes, release: sp.Release, rest: func() { rest(sp) }, memory: held(int64(len(bytes)))}, nil
}

// rest lets go of memory that a spool can do without. It may have been given
// back meanwhile.
func rest(sp *spool.Spool) {
	if sp.Retain() {
		sp.Idle()
		sp.Release()
	}
}

// held is what a spool has in memory for n bytes: a power of two while they
// are few, whole pages when they are more. It is too much for those that lie
// on the spool's disk.
func held(n int64) int64 {
	const few, page = 256 << 10, 4 << 10
	if n <= few {
		return max(int64(1)<<bits.Len64(uint64(max(n, 1)-1)), page)
	}
	return (n + page - 1) / page * page
}

// hash is computed once, by the first who asks.
func (b *body) hash() string {
	b.once.Do(func() {
		sum := sha256.Sum256(b.bytes)
		b.sum = hex.EncodeToString(sum[:])
	})
	return b.sum
}

// keep holds on to the bytes of an edition after use, least recently used
// out first.
func (s *Store) keep(ed *edition) {
	switch {
	case ed.kept != nil:
		s.bodies.MoveToFront(ed.kept)
		return
	case ed.body == nil, ed.body.mapped, s.closed, !ed.attached(), !s.fits(ed.body.memory), !s.cfg.mayKeep(ed.meta):
		return
	}
	ed.kept = s.bodies.PushFront(ed)
	s.keptBytes += ed.body.memory
	for s.keptBytes > s.cfg.Memory {
		s.unkeep(s.bodies.Back().Value.(*edition))
	}
}

// fits tells whether a body may be kept: none takes more than a quarter, so
// that one large original does not push out all others.
func (s *Store) fits(memory int64) bool { return memory <= s.cfg.Memory/4 }

func (s *Store) unkeep(ed *edition) {
	if ed.kept == nil {
		return
	}
	s.bodies.Remove(ed.kept)
	s.keptBytes -= ed.body.memory
	ed.kept = nil
	s.release(ed)
}
