package elastic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// GateConfig sizes a Gate.
type GateConfig struct {
	// Slots is how many jobs are on the CPU at once. Default the CPU quota of
	// the cgroup, rounded up: unlike GOMAXPROCS it can be 1, and it heeds the
	// limits of every group above.
	Slots int
	// Memory is how many bytes they may hold together, as told by Weight or
	// EnterCPU. Default 0, no limit.
	Memory int64
}

// Validate joins every fault it finds.
func (c GateConfig) Validate() error {
	var f faults
	f.note(c.Slots < 0, "Slots is %d; it must be at least 1, or 0 for the CPU quota", c.Slots)
	f.note(c.Memory < 0, "Memory is %d; it must be at least 1, or 0 for no limit", c.Memory)
	return errors.Join(f...)
}

// Gate rations CPU slots and memory among the pools that share it. A job asks
// for both at once and waits for them in order, so a large one is not starved
// by small ones that would still fit. Between pools turns go by share, so none
// is starved by another; and because work is not interrupted, a pool with none
// on the CPU may use one slot more than there are, so that the long jobs of
// one (videos) do not stop the short ones of another (images). At most Slots+1
// jobs are on the CPU, Slots when one pool uses the gate.
//
// Its methods are safe for concurrent use. The zero Gate is of no use.
type Gate struct {
	slots  int
	memory int64
	epoch  time.Time

	mu       sync.Mutex
	running  int
	held     int64
	turn     float64 // virtual time: the start of the latest turn given
	members  []*member
	changed  int64   // when running last changed, on the gate's clock
	occupied float64 // slot-nanoseconds used until then
}

// member is one pool's place at the gate. Fields are guarded by the gate's mu.
type member struct {
	gate  *Gate // nil: nothing is rationed
	name  string
	share float64

	waiting  []*turn // oldest first
	running  int
	spent    float64 // virtual time its next turn starts at
	admitted uint64
}

// turn is a claim to one slot and some memory.
type turn struct {
	bytes   int64
	given   bool          // guarded by the gate's mu
	granted chan struct{} // closed when it is given; nil until somebody waits
}

// NewGate starts nothing.
func NewGate(cfg GateConfig) (*Gate, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	if cfg.Slots == 0 {
		quota, _ := CPUQuota()
		cfg.Slots = max(1, int(math.Ceil(quota)))
	}
	return &Gate{slots: cfg.Slots, memory: cfg.Memory, epoch: time.Now()}, nil
}

func (g *Gate) now() int64 { return int64(time.Since(g.epoch)) }

// join gives a pool its place. A nil gate gives one that rations nothing.
func (g *Gate) join(name string, share int) *member {
	m := &member{gate: g, name: name, share: float64(share)}
	if g != nil {
		g.mu.Lock()
		g.members = append(g.members, m)
		g.mu.Unlock()
	}
	return m
}

// quit takes back the place of a pool that has shut down.
func (m *member) quit() {
	if m.gate == nil {
		return
	}
	m.gate.mu.Lock()
	defer m.gate.mu.Unlock()
	m.gate.members = slices.DeleteFunc(m.gate.members, func(o *member) bool { return o == m })
}

func (m *member) tooHeavy(bytes int64) bool {
	return m.gate != nil && m.gate.memory > 0 && bytes > m.gate.memory
}

// EnterCPU marks that the job whose context ctx is begins its CPU stage, and
// waits for its turn at the pool's gate, if it has one. The job holds bytes of
// the gate's memory from then on; 0 stands for its Weight. leave marks the end
// of the stage; calling it twice, or not at all, does no harm. Fetch before,
// and write results after, so that a slow network never holds a slot.
//
// The error is the end of ctx, or ErrTooHeavy. A context that belongs to no
// job, and a job that is in its CPU stage already, enter freely.
func EnterCPU(ctx context.Context, bytes int64) (leave func(), err error) {
	t, ok := ctx.Value(taskKey{}).(*task)
	if !ok || t.turn.Load() != nil {
		return func() {}, nil
	}
	if bytes == 0 {
		bytes = t.weight
	}
	claim, err := t.member.enter(ctx, bytes)
	if err != nil {
		return nil, err
	}
	if !t.turn.CompareAndSwap(nil, claim) { // entered twice at the same time
		t.member.leave(claim)
		return func() {}, nil
	}
	if t.state.Load() == ended { // by something the job left behind
		t.leaveCPU()
	}
	return t.leaveCPU, nil
}

func (t *task) leaveCPU() {
	if t.turn.Load() == nil {
		return
	}
	if claim := t.turn.Swap(nil); claim != nil {
		t.member.leave(claim)
	}
}

func (m *member) enter(ctx context.Context, bytes int64) (*turn, error) {
	g := m.gate
	claim := &turn{bytes: max(bytes, 0)}
	if g == nil {
		return claim, nil
	}
	if m.tooHeavy(bytes) {
		return nil, fmt.Errorf("%w: %d bytes of %d", ErrTooHeavy, bytes, g.memory)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("wait for the CPU: %w", context.Cause(ctx))
	}
	// A job's context makes its channel when it is first asked for one, which
	// costs more than a turn that is free.
	if m.queue(claim) {
		return claim, nil
	}
	select {
	case <-claim.granted:
		return claim, nil
	case <-ctx.Done():
	}
	if m.unqueue(claim) {
		return nil, fmt.Errorf("wait for the CPU: %w", context.Cause(ctx))
	}
	m.leave(claim) // the grant came in between
	return nil, fmt.Errorf("wait for the CPU: %w", context.Cause(ctx))
}

// queue reports whether the claim was granted at once.
func (m *member) queue(claim *turn) bool {
	g := m.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(m.waiting) == 0 {
		m.spent = max(m.spent, g.turn) // no credit for having been away
	}
	m.waiting = append(m.waiting, claim)
	g.grant()
	if !claim.given {
		claim.granted = make(chan struct{})
	}
	return claim.given
}

// unqueue reports whether the claim was still waiting.
func (m *member) unqueue(claim *turn) bool {
	g := m.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(m.waiting, claim)
	if i < 0 {
		return false
	}
	m.waiting = slices.Delete(m.waiting, i, i+1)
	g.grant() // those behind it may fit where it did not
	return true
}

func (m *member) leave(claim *turn) {
	g := m.gate
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.account()
	g.running--
	m.running--
	g.held -= claim.bytes
	g.grant()
}

// account brings the sum of used slots up to the present. An extra job makes
// the gate no fuller than full.
func (g *Gate) account() {
	now := g.now()
	g.occupied += float64(now-g.changed) * float64(min(g.running, g.slots))
	g.changed = now
}

// grant gives out every turn that can be given. It stops at the first that
// lacks memory, whoever is behind it.
func (g *Gate) grant() {
	for {
		m := g.nextMember()
		if m == nil || !g.fits(m.waiting[0]) {
			return
		}
		claim := m.waiting[0]
		m.waiting = slices.Delete(m.waiting, 0, 1)
		g.account()
		g.running++
		m.running++
		m.admitted++
		g.held += claim.bytes
		g.turn = max(g.turn, m.spent)
		m.spent += 1 / m.share
		claim.given = true
		if claim.granted != nil {
			close(claim.granted)
		}
	}
}

func (g *Gate) fits(claim *turn) bool {
	return g.memory == 0 || g.held+claim.bytes <= g.memory
}

// nextMember is the one with a right to the next turn, which is the one that
// has had the least for its share; nil when there is no slot for any.
func (g *Gate) nextMember() *member {
	var best *member
	for _, m := range g.members {
		if len(m.waiting) == 0 || !g.hasSlot(m) {
			continue
		}
		if best == nil || m.spent < best.spent {
			best = m
		}
	}
	return best
}

// hasSlot: the extra slot is for a pool that others keep off the CPU.
func (g *Gate) hasSlot(m *member) bool {
	if g.running < g.slots {
		return true
	}
	return g.running == g.slots && m.running == 0 && len(g.members) > 1
}

// GateStats is what a gate is doing.
type GateStats struct {
	Slots   int // on the CPU at once, one more between pools
	Running int // on the CPU now
	Waiting int // for their turn
	Memory  int64
	Held    int64 // of Memory, by those running
	Members []MemberStats
}

// MemberStats is one pool's part of it.
type MemberStats struct {
	Name             string
	Share            int
	Running, Waiting int
	Admitted         uint64 // turns ever given
}

// Stats never blocks for long.
func (g *Gate) Stats() GateStats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := GateStats{Slots: g.slots, Running: g.running, Memory: g.memory, Held: g.held}
	for _, m := range g.members {
		s.Waiting += len(m.waiting)
		s.Members = append(s.Members, MemberStats{
			Name: m.name, Share: int(m.share), Running: m.running, Waiting: len(m.waiting), Admitted: m.admitted,
		})
	}
	return s
}

// load is what a decision needs to know of the gate.
type load struct {
	gated    bool
	slots    int
	running  int
	waiting  int // for a turn, of all pools
	starved  int // of those, held up by memory although a slot is free
	occupied float64
	at       int64
	memory   int64
	held     int64
}

func (g *Gate) load() load {
	if g == nil {
		return load{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.account()
	l := load{gated: true, slots: g.slots, running: g.running, occupied: g.occupied, at: g.changed, memory: g.memory, held: g.held}
	for _, m := range g.members {
		l.waiting += len(m.waiting)
	}
	if g.running < g.slots {
		l.starved = l.waiting
	}
	return l
}

// useSince is the share of the slots used between two looks, 0 to 1.
func (l load) useSince(last load) float64 {
	if !l.gated || l.at <= last.at {
		return 0
	}
	return (l.occupied - last.occupied) / (float64(l.at-last.at) * float64(l.slots))
}
