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
	memory  int64 // what it counts while it is kept
	mapped  bool  // it is the disk's, which keeps it better than memory would

	once sync.Once
	sum  string
}

// spooled takes over a reference to a finished spool.
func spooled(sp *spool.Spool) (*body, error) {
	bytes, err := sp.Bytes()
	if err != nil {
		return nil, fmt.Errorf("read spool: %w", err)
	}
	return &body{bytes: bytes, release: sp.Release, memory: classSize(len(bytes))}, nil
}

// classSize is the buffer that a spool has for n bytes: a power of two. It is
// too much for those that the spool has moved to its disk.
func classSize(n int) int64 {
	return max(int64(1)<<bits.Len64(uint64(max(n, 1)-1)), 4096)
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
