package priority

// table has the open streams of a scheduler by their handles, which are small
// numbers, used again and again. A stream is in one heap at most.
type table struct {
	streams []*Stream
	slot    []int32 // where each is in its heap
	free    []uint32
}

func (t *table) enter(st *Stream) {
	if last := len(t.free) - 1; last >= 0 {
		st.handle = t.free[last]
		t.free = t.free[:last]
		t.streams[st.handle] = st
		return
	}
	st.handle = uint32(len(t.streams))
	t.streams = append(t.streams, st)
	t.slot = append(t.slot, 0)
}

func (t *table) leave(st *Stream) {
	t.streams[st.handle] = nil
	t.free = append(t.free, st.handle)
}
