package h2

import "sync"

// Bytes wait in chunks of two sizes: small answers take a small one, and what
// is longer is not cut into many. A buffer wastes less than one large chunk.
const (
	smallChunk = 4 << 10
	largeChunk = 16 << 10
)

type chunk struct {
	bytes []byte // of its full length; a lent one's belong to who writes
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

// rest is how many bytes of it wait.
func (k *chunk) rest() int { return k.w - k.r }

// A buffer is a queue of bytes. The zero value is empty and ready.
type buffer struct {
	first, last *chunk
	size        int
	written     int64 // bytes ever appended
	lent        chunk // the last one, while its bytes are those of who writes
}

func (b *buffer) len() int { return b.size }

// held is how many of the bytes are copies.
func (b *buffer) held() int { return b.size - b.lent.rest() }

// lend appends p without a copy, until it has been read or is kept. Until then
// nothing can be appended.
func (b *buffer) lend(p []byte) {
	b.size += len(p)
	b.written += int64(len(p))
	b.lent = chunk{bytes: p, w: len(p)}
	b.push(&b.lent)
}

// keep copies what is left of the lent bytes and says how many that are.
func (b *buffer) keep() int {
	left := b.lent.bytes[b.lent.r:b.lent.w]
	if len(left) == 0 {
		b.lent = chunk{}
		return 0
	}
	// It is the last in the queue; the one before it becomes that again.
	if b.first == &b.lent {
		b.first, b.last = nil, nil
	} else {
		for b.last = b.first; b.last.next != &b.lent; {
			b.last = b.last.next
		}
		b.last.next = nil
	}
	b.lent = chunk{}
	b.size -= len(left)
	b.written -= int64(len(left))
	b.append(left)
	return len(left)
}

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
		b.release(k)
	}
	b.size -= n
	return n
}

// drop gives everything back and says how many bytes of its own that were.
func (b *buffer) drop() int {
	n := b.held()
	for k := b.first; k != nil; {
		next := k.next
		b.release(k)
		k = next
	}
	b.first, b.last, b.size = nil, nil, 0
	return n
}

func (b *buffer) release(k *chunk) {
	if k == &b.lent {
		b.lent = chunk{}
		return
	}
	k.next, k.r, k.w = nil, 0, 0
	if len(k.bytes) == smallChunk {
		smallChunks.Put(k)
	} else {
		largeChunks.Put(k)
	}
}
