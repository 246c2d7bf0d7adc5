package h2

import "sync"

// Bytes wait in chunks of two sizes: small answers take a small one, and what
// is longer is not cut into many. A buffer wastes less than one large chunk.
const (
	smallChunk = 4 << 10
	largeChunk = 16 << 10
)

type chunk struct {
	bytes []byte // of its full length
	next  *chunk
	r, w  int // bytes[r:w] wait
}

var (
	smallChunks = sync.Pool{New: func() any { return &chunk{bytes: make([]byte, smallChunk)} }}
	largeChunks = sync.Pool{New: func() any { return &chunk{bytes: make([]byte, largeChunk)} }}
)

func newChunk(n int) *chunk {
	if n <= smallChunk {
		return smallChunks.Get().(*chunk)
	}
	return largeChunks.Get().(*chunk)
}

func (k *chunk) release() {
	k.next, k.r, k.w = nil, 0, 0
	if len(k.bytes) == smallChunk {
		smallChunks.Put(k)
	} else {
		largeChunks.Put(k)
	}
}

// A buffer is a queue of bytes. The zero value is empty and ready.
type buffer struct {
	first, last *chunk
	size        int
	written     int64 // bytes ever appended
}

func (b *buffer) len() int { return b.size }

// append copies p to the end.
func (b *buffer) append(p []byte) {
	b.size += len(p)
	b.written += int64(len(p))
	for len(p) > 0 {
		if b.last == nil || b.last.w == len(b.last.bytes) {
			b.push(newChunk(len(p)))
		}
		n := copy(b.last.bytes[b.last.w:], p)
		b.last.w += n
		p = p[n:]
	}
}

func (b *buffer) push(k *chunk) {
	if b.last == nil {
		b.first = k
	} else {
		b.last.next = k
	}
	b.last = k
}

// read moves bytes from the front into p and says how many.
func (b *buffer) read(p []byte) int {
	n := 0
	for n < len(p) && b.first != nil {
		k := b.first
		m := copy(p[n:], k.bytes[k.r:k.w])
		k.r += m
		n += m
		if k.r < k.w {
			break
		}
		if b.first = k.next; b.first == nil {
			b.last = nil
		}
		k.release()
	}
	b.size -= n
	return n
}

// drop gives everything back and says how many bytes that were.
func (b *buffer) drop() int {
	n := b.size
	for k := b.first; k != nil; {
		next := k.next
		k.release()
		k = next
	}
	b.first, b.last, b.size = nil, nil, 0
	return n
}
