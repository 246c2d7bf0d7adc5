package h2

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
}

func (f *fifo) push(st *stream) { f.items = append(f.items, st) }

func (f *fifo) peek() *stream {
	if f.first == len(f.items) {
		return nil
	}
	return f.items[f.first]
}

func (f *fifo) pop() {
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

// A ring remembers the newest of the streams that we reset.
type ring struct {
	ids  [128]uint32
	next int
}

func (r *ring) add(id uint32) {
	r.ids[r.next] = id
	r.next = (r.next + 1) % len(r.ids)
}

func (r *ring) has(id uint32) bool {
	for _, known := range r.ids {
		if known == id {
			return true
		}
	}
	return false
}
