package priority_test

import (
	"cmp"
	"slices"

	"github.com/spillway-media/spillway/h2/priority"
)

// model is the scheduler as one would explain it: slices, sorted anew for each
// question. What it keeps of a class is its virtual time, all else it derives.
type model struct {
	options priority.Options
	streams []*modelStream // open ones
	classes map[[2]int]*modelClass
	clock   int
	inOrder int64
}

type modelClass struct {
	now  int64 // virtual time
	lead int64 // of the non-incremental streams
}

type modelStream struct {
	id        uint32
	params    priority.Params
	phase     priority.Phase
	known     bool
	remaining int64
	sent      int64
	ready     bool
	since     int
	started   bool
	start     int64
	part      int64
}

const unit = 1 << 16

func newModel(o priority.Options) *model {
	if o.Floor == 0 {
		o.Floor = 16
	}
	return &model{options: o, classes: map[[2]int]*modelClass{}}
}

func (m *model) open(id uint32, p priority.Params) {
	m.streams = append(m.streams, &modelStream{id: id, params: weighed(p)})
}

func weighed(p priority.Params) priority.Params {
	if p.Weight == 0 {
		p.Weight = 16
	}
	return p
}

func (m *model) find(id uint32) *modelStream {
	i := slices.IndexFunc(m.streams, func(st *modelStream) bool { return st.id == id })
	return m.streams[i]
}

func (m *model) close(id uint32) {
	m.setReady(id, false)
	m.streams = slices.DeleteFunc(m.streams, func(st *modelStream) bool { return st.id == id })
}

func (m *model) setReady(id uint32, ready bool) {
	st := m.find(id)
	if st.ready == ready {
		return
	}
	if ready {
		m.enter(st)
		return
	}
	m.leave(st)
}

func (m *model) prioritize(id uint32, p priority.Params) {
	p = weighed(p)
	m.change(m.find(id), func(st *modelStream) {
		now := m.class(m.key(st)).now
		if st.started && st.start > now {
			st.start, st.part = now+(st.start-now)*int64(st.params.Weight)/int64(p.Weight), 0
		}
		st.params = p
	})
}

func (m *model) mark(id uint32, phase priority.Phase, remaining int64) {
	if m.options.IgnorePhases {
		phase = priority.Body
	}
	m.change(m.find(id), func(st *modelStream) {
		st.phase, st.known, st.remaining, st.sent = phase, remaining >= 0, remaining, 0
	})
}

func (m *model) change(st *modelStream, do func(*modelStream)) {
	was, ready := m.key(st), st.ready
	if ready {
		m.leave(st)
	}
	do(st)
	if m.key(st) != was {
		st.started = false
	}
	if ready {
		m.enter(st)
	}
}

func (m *model) enter(st *modelStream) {
	m.clock++
	st.ready, st.since = true, m.clock
	if c := m.class(m.key(st)); st.params.Incremental && m.fair(st) {
		if !st.started || st.start < c.now {
			st.started, st.start, st.part = true, c.now, 0
		}
	}
	m.settle(m.key(st))
}

func (m *model) leave(st *modelStream) {
	st.ready = false
	m.settle(m.key(st))
}

func (m *model) sent(id uint32, n int64) {
	st := m.find(id)
	if floor := m.floor(); floor == st {
		m.inOrder = 0
	} else {
		m.inOrder = min(m.inOrder+n, int64(m.options.Floor-1)*priority.Frame)
	}
	m.clock++
	st.since = m.clock
	st.sent += n
	st.remaining -= n
	if st.remaining < 0 {
		st.known = false
	}
	if mixed, turn := m.kinds(m.key(st)); st.ready && len(mixed) > 0 && len(turn) > 0 {
		if st.params.Incremental {
			n = -n
		}
		m.class(m.key(st)).lead += n
		n = max(n, -n)
	}
	if st.params.Incremental && m.fair(st) || !st.ready {
		total := n*unit + st.part
		st.start += total / int64(st.params.Weight)
		st.part = total % int64(st.params.Weight)
	}
	m.settle(m.key(st))
}

// settle is what follows for a class from any change: its virtual time is the
// mean of the starts, and a lead without a competitor is none.
func (m *model) settle(key [2]int) {
	mixed, turn := m.kinds(key)
	c := m.class(key)
	if len(mixed) == 0 || len(turn) == 0 {
		c.lead = 0
	}
	if len(mixed) == 0 || !m.fair(mixed[0]) {
		return
	}
	var behind, weights int64
	for _, st := range mixed {
		w := int64(st.params.Weight)
		weights += w
		behind += w*(c.now-st.start) - st.part
	}
	if behind < 0 {
		c.now += -behind / weights
	}
}

func (m *model) pick() (id uint32, limit int, ok bool) {
	var keys [][2]int
	for _, st := range m.streams {
		if st.ready {
			keys = append(keys, m.key(st))
		}
	}
	if len(keys) == 0 {
		return 0, priority.Frame, false
	}
	top := m.inOrderOf(slices.MinFunc(keys, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }))
	if floor := m.floor(); floor != nil && floor != top {
		return floor.id, priority.FloorFrame, true
	}
	return top.id, priority.Frame, true
}

func (m *model) inOrderOf(key [2]int) *modelStream {
	c := m.class(key)
	mixed, turn := m.kinds(key)
	if len(mixed) == 0 || len(turn) > 0 && c.lead <= 0 {
		return slices.MinFunc(turn, func(a, b *modelStream) int { return cmp.Or(byView(a, b), byID(a, b)) })
	}
	if !m.fair(mixed[0]) {
		return slices.MinFunc(mixed, func(a, b *modelStream) int {
			return cmp.Or(byView(a, b), cmp.Compare(a.left(), b.left()), byID(a, b))
		})
	}
	mixed = slices.DeleteFunc(mixed, func(st *modelStream) bool { return st.start > c.now })
	return slices.MinFunc(mixed, func(a, b *modelStream) int {
		return cmp.Or(cmp.Compare(a.due(), b.due()), byID(a, b))
	})
}

// byView: what is looked at goes before what is not.
func byView(a, b *modelStream) int {
	return cmp.Compare(min(max(a.params.Urgency, 1), 2), min(max(b.params.Urgency, 1), 2))
}

func byID(a, b *modelStream) int { return cmp.Compare(a.id, b.id) }

func (st *modelStream) due() int64 {
	return st.start + priority.Frame*unit/int64(st.params.Weight)
}

func (st *modelStream) left() int64 {
	if st.known {
		return st.remaining
	}
	return max(16<<10, st.sent)
}

func (m *model) floor() *modelStream {
	if m.inOrder < int64(m.options.Floor-1)*priority.Frame {
		return nil
	}
	var waiting []*modelStream
	for _, st := range m.streams {
		promised := st.params.Incremental && m.fair(st) && m.key(st) == m.topKey()
		if st.ready && !promised {
			waiting = append(waiting, st)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	return slices.MinFunc(waiting, func(a, b *modelStream) int { return cmp.Compare(a.since, b.since) })
}

func (m *model) topKey() [2]int {
	top := [2]int{8, 0}
	for _, st := range m.streams {
		if key := m.key(st); st.ready && slices.Compare(key[:], top[:]) < 0 {
			top = key
		}
	}
	return top
}

// key is a class: what it is ordered by.
func (m *model) key(st *modelStream) [2]int {
	order := map[priority.Phase]int{priority.Header: 0, priority.Preview: 1, priority.Body: 2, priority.Good: 3, priority.Rest: 4}
	return [2]int{int(priority.Effective(st.params.Urgency, st.phase)), order[st.phase]}
}

func (m *model) class(key [2]int) *modelClass {
	if m.classes[key] == nil {
		m.classes[key] = &modelClass{}
	}
	return m.classes[key]
}

func (m *model) fair(st *modelStream) bool { return m.options.Fair || st.phase == priority.Body }

// kinds are the ready streams of a class: incremental ones, and the others.
func (m *model) kinds(key [2]int) (mixed, turn []*modelStream) {
	for _, st := range m.streams {
		switch {
		case !st.ready || m.key(st) != key:
		case st.params.Incremental:
			mixed = append(mixed, st)
		default:
			turn = append(turn, st)
		}
	}
	return mixed, turn
}
