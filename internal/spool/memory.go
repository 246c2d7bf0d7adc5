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
// Small ones come in powers of two; large ones grow where they are and count
// exactly. A few of both are kept for the next taker, as the system takes longer
// to find clean pages than a file takes to be read into them.
const (
	smallestBits = 12       // one page
	largestBits  = 18       // of the small ones
	step         = 1 << 16  // by which large ones grow, at least
	mostIdle     = 12 << 20 // bytes kept of all together
	hugePage     = 2 << 20
	ahead        = 512 << 10 // of which the pages of large ones are brought in
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
	mu    sync.Mutex
	small [largestBits + 1][][]byte // by class
	large [][]byte
	kept  int // bytes in both
}

// take gives a buffer of size bytes, zeros or what somebody left in it, and how
// much of it has its pages already.
func (m *mappings) take(size int64) (buf []byte, present int64, err error) {
	if buf, present = m.reuse(size); buf == nil {
		buf, err = unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return nil, 0, fmt.Errorf("map spool memory: %w", err)
		}
	}
	if len(buf) >= hugePage {
		useHugePages(buf)
	}
	return buf, present, nil
}

func (m *mappings) reuse(size int64) (buf []byte, present int64) {
	if size > 1<<largestBits {
		return m.reuseLarge(size)
	}
	if size != 1<<classOf(size) {
		return nil, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pop(&m.small[classOf(size)]), size
}

// reuseLarge makes the size of the last one that was given back fit.
func (m *mappings) reuseLarge(size int64) (resized []byte, present int64) {
	m.mu.Lock()
	buf := m.pop(&m.large)
	m.mu.Unlock()
	if buf == nil {
		return nil, 0
	}
	if resized = resize(buf, size); resized == nil {
		_ = unix.Munmap(buf)
	}
	return resized, min(int64(len(buf)), size)
}

// pop takes the last of a list of ours. The caller holds mu.
func (m *mappings) pop(list *[][]byte) []byte {
	last := len(*list) - 1
	if last < 0 {
		return nil
	}
	buf := (*list)[last]
	(*list)[last] = nil
	*list = (*list)[:last]
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
	list, size := &m.large, int64(len(buf))
	if isSmall(buf) {
		if size != 1<<classOf(size) {
			return false
		}
		list = &m.small[classOf(size)]
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept+len(buf) > mostIdle {
		return false
	}
	*list = append(*list, buf)
	m.kept += len(buf)
	return true
}
