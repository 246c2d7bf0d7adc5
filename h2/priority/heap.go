package priority

import "math/bits"

// heap has its least key in front; of equal keys, the least stream ID. Four
// children a node: half the levels of a binary heap, and the keys of a node's
// children share a line or two of the CPU's cache. It holds no pointers, and
// where each stream is in it is told by the table, so that moving entries
// touches nothing but two short arrays.
type heap []entry

type entry struct {
	key    uint64
	id     uint32
	handle uint32 // the stream's place in the table
}

// before is 1 if e goes before o, else 0: the borrow of a subtraction of both
// numbers as one. As a condition it would be guessed wrongly half of the time.
func (e entry) before(o entry) uint64 {
	_, borrow := bits.Sub64(uint64(e.id), uint64(o.id), 0)
	_, borrow = bits.Sub64(e.key, o.key, borrow)
	return borrow
}

func (h *heap) push(t *table, st *Stream) {
	*h = append(*h, entry{})
	h.up(t, len(*h)-1, entry{st.key(), st.ID, st.handle})
}

func (h *heap) remove(t *table, st *Stream) {
	i := int(t.slot[st.handle])
	last := len(*h) - 1
	moved := (*h)[last]
	*h = (*h)[:last]
	if i < last {
		h.place(t, i, moved)
	}
}

// rekey puts a stream where its key belongs now.
func (h *heap) rekey(t *table, st *Stream) {
	h.place(t, int(t.slot[st.handle]), entry{st.key(), st.ID, st.handle})
}

// place puts e into slot i, which is free, or above or below of it.
func (h *heap) place(t *table, i int, e entry) {
	if i > 0 && e.before((*h)[(i-1)/4]) != 0 {
		h.up(t, i, e)
		return
	}
	h.down(t, i, e)
}

func (h *heap) up(t *table, i int, e entry) {
	a, slot := *h, t.slot
	for i > 0 {
		parent := (i - 1) / 4
		if e.before(a[parent]) == 0 {
			break
		}
		a[i] = a[parent]
		slot[a[i].handle] = int32(i)
		i = parent
	}
	a[i] = e
	slot[e.handle] = int32(i)
}

func (h *heap) down(t *table, i int, e entry) {
	a, slot := *h, t.slot
	for 4*i+1 < len(a) {
		least := a.leastChild(i)
		if a[least].before(e) == 0 {
			break
		}
		a[i] = a[least]
		slot[a[i].handle] = int32(i)
		i = least
	}
	a[i] = e
	slot[e.handle] = int32(i)
}

// leastChild is the slot of the first of the children of slot i, which has some.
func (h heap) leastChild(i int) int {
	first := 4*i + 1
	if first+4 > len(h) {
		least := first
		for c := first + 1; c < len(h); c++ {
			least += int(h[c].before(h[least])) * (c - least)
		}
		return least
	}
	c := h[first : first+4 : first+4]
	left := c[1].before(c[0])
	right := 2 + c[3].before(c[2])
	return first + int(left+c[right&3].before(c[left&1])*(right-left))
}
