package priority

// Stream is one response, as the scheduler knows it. It is a part of what its
// owner keeps for a stream, so that nothing is looked up and nothing allocated.
// The zero Stream is not open. ID and Owner do not change while it is.
type Stream struct {
	ID    uint32 // what non-incremental streams are ordered by, and the last tie-break
	Owner any    // not touched by the scheduler

	open  bool
	ready bool
	fixed bool // the size of its phase was given, and has not been too small

	params Params
	phase  Phase
	class  int8 // index into Scheduler.classes, and its order

	place  place
	handle uint32

	remaining int64 // of its phase, while fixed
	sent      int64 // of its phase

	started bool   // fair classes: start is of this class
	start   uint64 // fair classes: virtual time at which its next byte is due
	part    uint32 // fair classes: what start has been rounded down by, times weight

	served     uint64  // what it waits from: its last service, or when it came into its class
	prev, next *Stream // the ready streams of its class, longest waiting first
}

// place is the heap that a stream is in.
type place uint8

const (
	nowhere place = iota
	inTurn        // non-incremental: one after another
	inShort       // incremental: the shortest first
	inDue         // incremental, fair: may be served now
	inEarly       // incremental, fair: has had its share so far
)

// key orders a stream in the heap that it is in.
func (st *Stream) key() uint64 {
	switch st.place {
	case inTurn:
		return st.behind() | uint64(st.ID)
	case inShort:
		return st.behind() | uint64(min(st.left(), behindBit-1))
	case inDue:
		return st.start + Frame*unit/uint64(st.params.Weight)
	default:
		return st.start
	}
}

// behind puts all that is not urgent by itself behind what is. In Good and Rest
// the urgencies 0 to 3 have become one, and between 2 and 3, a browser's first
// guess at what is in view, they should. But 1 is what Chromium says once it knows
// that a picture is looked at, which is then completed before the others.
func (st *Stream) behind() uint64 {
	if st.params.Urgency <= 1 {
		return 0
	}
	return behindBit
}

const behindBit = 1 << 62

// left is how much of its phase is to come. Where that is not known, as much
// is taken to come as has gone: whoever has sent little is likely to end soon.
func (st *Stream) left() int64 {
	if st.fixed {
		return st.remaining
	}
	return max(unknownSize, st.sent)
}

const unknownSize = 16 << 10

// mark begins a phase.
func (st *Stream) mark(phase Phase, remaining int64) {
	st.phase, st.remaining, st.sent = phase, remaining, 0
	st.fixed = remaining >= 0
}

// account notes that n bytes have gone. A phase that turns out longer than it
// was said to be is from then on one of unknown size.
func (st *Stream) account(n int64) {
	st.sent += n
	st.remaining -= n
	if st.remaining < 0 {
		st.fixed = false
	}
}
