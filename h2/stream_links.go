package h2

import "slices"

// A list holds streams by their own links: entering, leaving and the first are
// O(1), and no allocation. A stream is in one list at most.
type list struct {
	head, tail *stream
	n          int
}

func (l *list) add(st *stream) {
	st.prevLink, st.nextLink = l.tail, nil
	if l.tail == nil {
		l.head = st
	} else {
		l.tail.nextLink = st
	}
	l.tail = st
	l.n++
}

func (l *list) remove(st *stream) {
	if st.prevLink == nil {
		l.head = st.nextLink
	} else {
		st.prevLink.nextLink = st.nextLink
	}
	if st.nextLink == nil {
		l.tail = st.prevLink
	} else {
		st.nextLink.prevLink = st.prevLink
	}
	st.prevLink, st.nextLink = nil, nil
	l.n--
}

// A fifo is a queue of streams in the order in which they came.
type fifo struct {
	items []*stream
	first int
	gone  int // of items, those that were closed while they waited
}

func (f *fifo) push(st *stream) { f.items = append(f.items, st) }

func (f *fifo) peek() *stream {
	if f.first == len(f.items) {
		return nil
	}
	return f.items[f.first]
}

func (f *fifo) pop() {
	if f.items[f.first].gone {
		f.gone--
	}
	f.items[f.first] = nil
	f.first++
	switch {
	case f.first == len(f.items):
		f.items, f.first = f.items[:0], 0
	case f.first > 256 && f.first > len(f.items)/2:
		n := copy(f.items, f.items[f.first:])
		clear(f.items[n:])
		f.items, f.first = f.items[:n], 0
	}
}

// forget counts a stream that was closed while it waited. A client that reads
// nothing must not fill the queue with streams that it resets: once most of
// what waits is gone, it goes.
func (f *fifo) forget() {
	f.gone++
	if waiting := len(f.items) - f.first; f.gone > 64 && f.gone > waiting/2 {
		kept := f.items[:0]
		for _, st := range f.items[f.first:] {
			if !st.gone {
				kept = append(kept, st)
			}
		}
		clear(f.items[len(kept):])
		f.items, f.first, f.gone = kept, 0, 0
	}
}

// without removes a stream from a few.
func without(few []*stream, st *stream) []*stream {
	if i := slices.Index(few, st); i >= 0 {
		return slices.Delete(few, i, i+1)
	}
	return few
}

// A ring remembers the newest of the streams that we reset: as many as a client
// may have open. Before it has read the end of one it cannot have read that of
// a later one either, so it sends nothing for any that are forgotten.
type ring struct {
	size  int
	known []refusal
	next  int
}

// A refusal is a stream that was reset, with left bytes of its body to come; -1
// is that nobody knows how many.
type refusal struct {
	id   uint32
	left int64
}

func (r *ring) add(id uint32, left int64) {
	if had := r.find(id); had != nil {
		had.left = left
		return
	}
	if len(r.known) < r.size {
		r.known = append(r.known, refusal{id, left})
		return
	}
	r.known[r.next] = refusal{id, left}
	r.next = (r.next + 1) % r.size
}

// find is nil for a stream that is not remembered.
func (r *ring) find(id uint32) *refusal {
	for i := range r.known {
		if r.known[i].id == id {
			return &r.known[i]
		}
	}
	return nil
}
