package priority

import "math/bits"

const (
	// Frame is the most that a frame should hold: with its header it is one
	// record of TLS. Bounds are told in frames of this size.
	Frame = 16<<10 - 9
	// FloorFrame is the most that a frame out of order should hold. It is small
	// so that the floor takes less than one in a hundred bytes of a page.
	FloorFrame = 2 << 10

	defaultFloor = 16
)

// Options are how a scheduler orders. The zero value is the default.
type Options struct {
	// IgnorePhases takes every stream to be in Body.
	IgnorePhases bool
	// Fair shares the bytes of a class by weights in all phases; by default it
	// does so in Body only, and the shortest picture goes first elsewhere.
	Fair bool
	// Floor: whenever Floor-1 frames' worth of bytes have gone in order, the
	// ready stream that has waited longest may send FloorFrame bytes; 0 is 16.
	Floor int
}

// Scheduler orders the streams of one connection.
//
// The effective urgency comes first, then the phase: Header, Preview, Body,
// Good, Rest. Streams that have both in common are a class. In it, those that
// are not incremental are served one after another by their IDs; incremental
// ones are interleaved, by weights in Body, else the shortest first; where there
// are both, each kind gets half of the bytes. Of a class with several urgencies,
// which weights do not share, 0 and 1 go ahead of the others.
//
// So that nothing starves, there is the floor: of n ready streams, each is
// served at least once while n*Floor*Frame bytes go. Streams that are being
// served by weights do not take part: each has one frame in as many as the sum of
// their weights, divided by its own.
type Scheduler struct {
	options Options
	table   table
	classes [classCount]*class // made when they are first needed
	filled  uint64             // bit i: classes[i] has ready streams
	open    int
	ready   int

	clock   uint64 // counts what streams wait from
	inOrder int64  // bytes that have gone since the floor's last turn
}

const (
	phaseCount = 5
	classCount = (LeastUrgent + 1) * phaseCount
)

// New makes a scheduler without streams.
func New(o Options) *Scheduler {
	if o.Floor <= 0 {
		o.Floor = defaultFloor
	}
	return &Scheduler{options: o}
}

// Len returns how many streams are open, Ready how many of them are ready.
func (s *Scheduler) Len() int { return s.open }

// Ready returns how many streams could send now.
func (s *Scheduler) Ready() int { return s.ready }

// Open takes a stream in, in Body and not ready. The stream must stay where it
// is until it is closed.
func (s *Scheduler) Open(st *Stream, p Params) {
	if st.open {
		return
	}
	*st = Stream{ID: st.ID, Owner: st.Owner, open: true, params: p.valid()}
	st.mark(Body, -1)
	st.class = s.classOf(st)
	s.table.enter(st)
	s.open++
}

// Close forgets a stream. One that is not open is left alone.
func (s *Scheduler) Close(st *Stream) {
	if !st.open {
		return
	}
	s.SetReady(st, false)
	st.open = false
	s.table.leave(st)
	s.open--
}

// Prioritize changes what a stream is scheduled by, at once. For the floor, its
// wait begins anew.
func (s *Scheduler) Prioritize(st *Stream, p Params) {
	p = p.valid()
	s.change(st, func() {
		if c := s.classes[st.class]; c != nil {
			c.share.reweigh(st, p.Weight)
		}
		st.params = p
	})
}

// Mark says what the next bytes of a stream are, and how many there will be
// until it is marked again; -1 is not known. A wrong size costs time only.
func (s *Scheduler) Mark(st *Stream, phase Phase, remaining int64) {
	if s.options.IgnorePhases || phase > Rest {
		phase = Body
	}
	s.change(st, func() { st.mark(phase, remaining) })
}

// SetReady says whether a stream could send: it has bytes, and its window is
// open. One that is not ready costs nothing until it is.
func (s *Scheduler) SetReady(st *Stream, ready bool) {
	if !st.open || st.ready == ready {
		return
	}
	st.ready = ready
	if ready {
		s.ready++
		s.add(st)
		return
	}
	s.ready--
	s.remove(st)
}

// Pick returns whose frame is next, false if none is ready. Nothing changes by
// it: the same is returned until something else is said of some stream. It
// costs O(log n) amortised over picks, and does not allocate.
func (s *Scheduler) Pick() (*Stream, bool) {
	if s.filled == 0 {
		return nil, false
	}
	if st := s.floor(); st != nil {
		return st, true
	}
	return s.top().pick(), true
}

// Limit returns how many bytes the frame of the stream should hold that Pick
// returns: Frame, or FloorFrame when it is not the stream's turn by order.
func (s *Scheduler) Limit() int {
	if st := s.floor(); st != nil && st != s.top().pick() {
		return FloorFrame
	}
	return Frame
}

// Sent says that n bytes of a stream have gone, which has been picked. Only then
// is it said that it has no more: else its turn by the floor would not be over.
func (s *Scheduler) Sent(st *Stream, n int) {
	if !st.open || n < 0 {
		return
	}
	if s.floor() == st {
		s.inOrder = 0
	} else {
		s.inOrder = min(s.inOrder+int64(n), s.turn())
	}
	s.clock++
	st.served = s.clock
	st.account(int64(n))
	if c := s.classes[st.class]; st.ready {
		c.sent(st, int64(n))
	} else if c != nil {
		c.share.charge(st, int64(n))
	}
}

// turn is after how many bytes it is the floor's turn.
func (s *Scheduler) turn() int64 { return int64(s.options.Floor-1) * Frame }

// floor is the stream that is served out of order, nil if none is. It looks at
// the first of each class: at most 40, and only when it is the floor's turn.
func (s *Scheduler) floor() *Stream {
	if s.inOrder < s.turn() {
		return nil
	}
	var longest *Stream
	for rest := s.filled; rest != 0; rest &= rest - 1 {
		c := s.classes[bits.TrailingZeros64(rest)]
		st := c.longestWaiting(rest == s.filled)
		if st != nil && (longest == nil || st.served < longest.served) {
			longest = st
		}
	}
	return longest
}

// top is the class which is served now. There is one.
func (s *Scheduler) top() *class { return s.classes[bits.TrailingZeros64(s.filled)] }

// change does what may move an open stream to another class, or inside its own.
func (s *Scheduler) change(st *Stream, do func()) {
	if !st.open {
		return
	}
	if st.ready {
		s.remove(st)
	}
	do()
	if class := s.classOf(st); class != st.class {
		st.class = class
		st.started = false
	}
	if st.ready {
		s.add(st)
	}
}

func (s *Scheduler) add(st *Stream) {
	c := s.classes[st.class]
	if c == nil {
		c = &class{table: &s.table, fair: s.options.Fair || st.phase == Body}
		s.classes[st.class] = c
	}
	s.clock++
	st.served = s.clock
	c.add(st)
	s.filled |= 1 << st.class
}

func (s *Scheduler) remove(st *Stream) {
	c := s.classes[st.class]
	c.remove(st)
	if c.empty() {
		s.filled &^= 1 << st.class
	}
}

// classOf is the place of a stream's class in the order of classes.
func (s *Scheduler) classOf(st *Stream) int8 {
	return int8(Effective(st.params.Urgency, st.phase)*phaseCount + phaseOrder[st.phase])
}

// phaseOrder is the order of phases that are equally urgent.
var phaseOrder = [phaseCount]uint8{Header: 0, Preview: 1, Body: 2, Good: 3, Rest: 4}
