package priority

// heap has its least key in front; of equal keys, the least stream ID. Four
// children a node: half the levels of a binary heap, and the keys of a node's
// children share a line of the CPU's cache.
type heap []entry

type entry struct {
	key uint64
	st  *Stream
}

// before compares keys that may have wrapped around, as virtual time does.
func (e entry) before(o entry) bool {
	if e.key != o.key {
		return int64(e.key-o.key) < 0
	}
	return e.st.ID < o.st.ID
}

func (h *heap) push(st *Stream) {
	*h = append(*h, entry{})
	h.up(len(*h)-1, entry{st.key(), st})
}

// remove takes the entry at slot i out.
func (h *heap) remove(i int) {
	old := *h
	last := len(old) - 1
	moved := old[last]
	old[last] = entry{}
	*h = old[:last]
	if i < last {
		h.place(i, moved)
	}
}

// rekey puts the entry at slot i where its stream's key belongs now.
func (h *heap) rekey(i int) {
	st := (*h)[i].st
	h.place(i, entry{st.key(), st})
}

// place puts e into slot i, which is free, or above or below of it.
func (h *heap) place(i int, e entry) {
	if i > 0 && e.before((*h)[(i-1)/4]) {
		h.up(i, e)
		return
	}
	h.down(i, e)
}

func (h *heap) up(i int, e entry) {
	a := *h
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(a[parent]) {
			break
		}
		a[i] = a[parent]
		a[i].st.slot = int32(i)
		i = parent
	}
	a[i] = e
	e.st.slot = int32(i)
}

func (h *heap) down(i int, e entry) {
	a := *h
	for {
		first := 4*i + 1
		if first >= len(a) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(a)); c++ {
			if a[c].before(a[least]) {
				least = c
			}
		}
		if !a[least].before(e) {
			break
		}
		a[i] = a[least]
		a[i].st.slot = int32(i)
		i = least
	}
	a[i] = e
	e.st.slot = int32(i)
}
