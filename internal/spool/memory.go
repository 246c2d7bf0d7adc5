package spool

import (
	"fmt"
	"math/bits"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Buffers are anonymous mappings, not Go's memory: as that, the collector would
// let twice as much of them lie about before it looked, and give it back late.
//
// Small ones come in powers of two and are kept for the next taker, as mapping
// costs more than filling them. Large ones grow where they are, count exactly,
// and go back to the system at once.
const (
	smallestBits = 12      // one page
	largestBits  = 18      // of the small ones
	step         = 1 << 16 // by which large ones grow, at least
	mostIdle     = 4 << 20 // bytes kept of all small ones together
	hugePage     = 2 << 20
)

// capacity is what a buffer that has to hold n bytes, and grows from old, gets:
// large ones half as much again, so that growing stays rare, within most.
func capacity(n, old, most int64) int64 {
	switch {
	case n <= 1<<largestBits:
		return min(1<<classOf(n), max(most, n))
	case old == 0:
		return wholePages(n)
	}
	grown := (max(n, old+old/2) + step - 1) / step * step
	return max(min(grown, most), n)
}

func wholePages(n int64) int64 {
	page := int64(os.Getpagesize())
	return (n + page - 1) / page * page
}

// classOf is the exponent of the smallest power of two that holds n bytes.
func classOf(n int64) int {
	return max(bits.Len64(uint64(max(n, 1)-1)), smallestBits)
}

func isSmall(buf []byte) bool { return len(buf) <= 1<<largestBits }

// mappings makes buffers and keeps some.
type mappings struct {
	mu   sync.Mutex
	idle [largestBits + 1][][]byte // by class
	kept int                       // bytes in idle
}

// take gives a buffer of size bytes, zeros or what somebody left in it.
func (m *mappings) take(size int64) ([]byte, error) {
	if buf := m.reuse(size); buf != nil {
		return buf, nil
	}
	buf, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map spool memory: %w", err)
	}
	if len(buf) >= hugePage {
		useHugePages(buf)
	}
	return buf, nil
}

func (m *mappings) reuse(size int64) []byte {
	if size > 1<<largestBits || size != 1<<classOf(size) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.idle[classOf(size)]
	if len(list) == 0 {
		return nil
	}
	buf := list[len(list)-1]
	m.idle[classOf(size)] = list[:len(list)-1]
	m.kept -= len(buf)
	return buf
}

// give takes a buffer back.
func (m *mappings) give(buf []byte) {
	if m.keep(buf) {
		return
	}
	// It fails for what is no mapping only, which would be a fault of ours.
	_ = unix.Munmap(buf)
}

func (m *mappings) keep(buf []byte) bool {
	size := int64(len(buf))
	if !isSmall(buf) || size != 1<<classOf(size) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept+len(buf) > mostIdle {
		return false
	}
	m.idle[classOf(size)] = append(m.idle[classOf(size)], buf)
	m.kept += len(buf)
	return true
}
