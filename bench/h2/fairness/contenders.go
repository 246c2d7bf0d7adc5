package fairness

import (
	"container/heap"
	"math/bits"

	"github.com/spillway-media/spillway/h2/priority"
)

// contender is one way to choose among streams which all have bytes.
type contender interface {
	add(stream, weight int)
	next() int // the stream whose frame is next; that frame is sent
}

type entry struct {
	name string
	make func() contender
}

// ours is the name of the scheduler that targets are about.
const ours = "Spillway, by weights"

func entries() []entry {
	return []entry{
		{"FIFO", func() contender { return &fifo{} }},
		{"round robin", func() contender { return &ring{} }},
		{"64-slot wheel, as H2O's", func() contender { return &wheel{} }},
		{"WFQ on container/heap, keys of 256/w", func() contender { return &finish{scale: 256} }},
		{"WFQ on container/heap, keys of 2^32/w", func() contender { return &finish{scale: 1 << 32} }},
		{ours, func() contender { return newSpillway() }},
	}
}

// fifo sends the first stream until it ends, which none does here.
type fifo struct {
	first int
	any   bool
}

func (f *fifo) add(stream, _ int) {
	if !f.any {
		f.first, f.any = stream, true
	}
}
func (f *fifo) next() int { return f.first }

// ring serves one after another, a frame each, as Go's server does.
type ring struct {
	streams []int
	at      int
}

func (r *ring) add(stream, _ int) { r.streams = append(r.streams, stream) }

func (r *ring) next() int {
	stream := r.streams[r.at]
	r.at = (r.at + 1) % len(r.streams)
	return stream
}

// wheel has 64 slots. A served stream goes as many slots ahead as its weight
// says; what is left of a slot is carried over to its next turn.
type wheel struct {
	slots  [64][]spoke
	filled uint64 // bit i: the slot i ahead of now has streams
	now    int
}

type spoke struct{ stream, weight, carried int }

const slot = 1 << 16

func (w *wheel) add(stream, weight int) { w.put(spoke{stream: stream, weight: weight}) }

func (w *wheel) put(s spoke) {
	way := 63*slot/s.weight + s.carried
	s.carried = way % slot
	ahead := min(way/slot, 63)
	at := (w.now + ahead) % 64
	w.slots[at] = append(w.slots[at], s)
	w.filled |= 1 << ahead
}

func (w *wheel) next() int {
	ahead := bits.TrailingZeros64(w.filled)
	w.now = (w.now + ahead) % 64
	w.filled = bits.RotateLeft64(w.filled, -ahead)
	s := w.slots[w.now][0]
	w.slots[w.now] = w.slots[w.now][1:]
	if len(w.slots[w.now]) == 0 {
		w.filled &^= 1
	}
	w.put(s)
	return s.stream
}

// finish serves whose frame would end first: weighted fair queueing with one
// key a stream, on the standard library's heap. With a scale of 256 the keys
// of most weights are rounded a great deal.
type finish struct {
	scale uint64
	now   uint64
	queue finishes
}

type due struct {
	key    uint64
	step   uint64
	stream int
}

func (f *finish) add(stream, weight int) {
	step := f.scale / uint64(weight)
	heap.Push(&f.queue, &due{key: f.now + step, step: step, stream: stream})
}

func (f *finish) next() int {
	first := f.queue[0]
	f.now = first.key
	first.key += first.step
	heap.Fix(&f.queue, 0)
	return first.stream
}

type finishes []*due

func (q finishes) Len() int { return len(q) }
func (q finishes) Less(i, j int) bool {
	return q[i].key < q[j].key || q[i].key == q[j].key && q[i].stream < q[j].stream
}
func (q finishes) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *finishes) Push(x any)   { *q = append(*q, x.(*due)) }
func (q *finishes) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

// spillway is the scheduler of package priority, in the class that shares by
// weights.
type spillway struct{ scheduler *priority.Scheduler }

func newSpillway() *spillway {
	return &spillway{priority.New(priority.Options{})}
}

func (s *spillway) add(stream, weight int) {
	st := &priority.Stream{ID: uint32(2*stream + 1)}
	s.scheduler.Open(st, priority.Params{Urgency: priority.DefaultUrgency, Incremental: true, Weight: uint16(weight)})
	s.scheduler.SetReady(st, true)
}

func (s *spillway) next() int {
	st, _ := s.scheduler.Pick()
	s.scheduler.Sent(st, priority.Frame)
	return int(st.ID / 2)
}
