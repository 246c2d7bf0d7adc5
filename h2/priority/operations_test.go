package priority_test

import (
	"math/rand/v2"
	"testing"

	"github.com/spillway-media/spillway/h2/priority"
)

// pair is a scheduler and its model, to which the same is said.
type pair struct {
	t       *testing.T
	real    *priority.Scheduler
	model   *model
	streams map[uint32]*priority.Stream
	ids     []uint32
	nextID  uint32
}

func newPair(t *testing.T, o priority.Options) *pair {
	return &pair{t: t, real: priority.New(o), model: newModel(o), streams: map[uint32]*priority.Stream{}, nextID: 1}
}

// do carries one operation out, chosen by op with the numbers a, b and c.
func (p *pair) do(op, a, b, c uint8) {
	if len(p.ids) == 0 {
		op = 0
	}
	switch op % 13 {
	case 0:
		p.open(params(a, b, c))
	case 1:
		p.close(int(a) % len(p.ids))
	case 2:
		id := p.id(a)
		p.real.Prioritize(p.streams[id], params(c, b, a))
		p.model.prioritize(id, params(c, b, a))
	case 3, 4:
		p.mark(p.id(a), priority.Phase(b%5), int64(c)<<(b%12)-1)
	case 5, 6, 7:
		p.ready(p.id(a), b%4 != 0)
	case 8: // whoever it is, ready or not
		id := p.id(a)
		p.real.Sent(p.streams[id], int(b)*80)
		p.model.sent(id, int64(b)*80)
	default:
		p.send(int(a)<<8|int(b), c)
	}
	p.compare()
}

func params(a, b, c uint8) priority.Params {
	// Few urgencies, so that streams meet in classes.
	weights := [...]uint16{0, 1, 2, 110, 147, 183, 220, 256, uint16(c) + 1}
	return priority.Params{Urgency: 2 + a%3, Incremental: b%4 != 0, Weight: weights[c%9]}
}

func (p *pair) id(a uint8) uint32 { return p.ids[int(a)%len(p.ids)] }

func (p *pair) open(params priority.Params) {
	if len(p.ids) == 64 {
		p.close(0)
	}
	st := &priority.Stream{ID: p.nextID}
	p.nextID += 2
	p.ids = append(p.ids, st.ID)
	p.streams[st.ID] = st
	p.real.Open(st, params)
	p.model.open(st.ID, params)
}

func (p *pair) close(i int) {
	id := p.ids[i]
	p.ids = append(p.ids[:i], p.ids[i+1:]...)
	p.real.Close(p.streams[id])
	p.model.close(id)
	delete(p.streams, id)
}

func (p *pair) mark(id uint32, phase priority.Phase, remaining int64) {
	p.real.Mark(p.streams[id], phase, remaining)
	p.model.mark(id, phase, remaining)
}

func (p *pair) ready(id uint32, ready bool) {
	p.real.SetReady(p.streams[id], ready)
	p.model.setReady(id, ready)
}

// send lets the picked stream send a frame, after which it may be done.
func (p *pair) send(n int, c uint8) {
	st, ok := p.real.Pick()
	if !ok {
		p.ready(p.id(c), true)
		return
	}
	n %= p.real.Limit() + 1
	if c%2 == 0 {
		n = p.real.Limit()
	}
	p.real.Sent(st, n)
	p.model.sent(st.ID, int64(n))
	if c%16 == 1 {
		p.ready(st.ID, false)
	}
}

func (p *pair) compare() {
	p.t.Helper()
	wantID, wantLimit, wantOK := p.model.pick()
	st, ok := p.real.Pick()
	if ok != wantOK {
		p.t.Fatalf("picked any: %v, the model: %v", ok, wantOK)
	}
	if ok && st.ID != wantID {
		p.t.Fatalf("picked stream %d, the model %d", st.ID, wantID)
	}
	if got := p.real.Limit(); got != wantLimit {
		p.t.Fatalf("limit is %d, of the model %d", got, wantLimit)
	}
	if p.real.Len() != len(p.ids) {
		p.t.Fatalf("%d streams are open, not %d", p.real.Len(), len(p.ids))
	}
}

var variants = []priority.Options{
	{},
	{Fair: true},
	{IgnorePhases: true},
	{Floor: 3},
	{Floor: 1},
	{Fair: true, Floor: 2},
}

func TestPicksAreThoseOfTheModelWhateverHappens(t *testing.T) {
	for i, o := range variants {
		for seed := range uint64(8) {
			p := newPair(t, o)
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for range 1500 {
				n := r.Uint32()
				p.do(uint8(n), uint8(n>>8), uint8(n>>16), uint8(n>>24))
			}
		}
	}
}

func FuzzSchedulerAgainstModel(f *testing.F) {
	f.Add(uint8(0), []byte{0, 0, 1, 0, 0, 0, 1, 1, 5, 0, 1, 0, 5, 1, 1, 0, 8, 9, 9, 1, 8, 0, 0, 0})
	f.Add(uint8(1), []byte{0, 3, 0, 7, 3, 0, 4, 200, 5, 0, 1, 0, 9, 255, 255, 2})
	f.Fuzz(func(t *testing.T, variant uint8, ops []byte) {
		p := newPair(t, variants[int(variant)%len(variants)])
		ops = ops[:min(len(ops), 2000)] // the model is slow
		for ; len(ops) >= 4; ops = ops[4:] {
			p.do(ops[0], ops[1], ops[2], ops[3])
		}
	})
}
