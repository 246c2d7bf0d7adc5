package simulate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// world is all of one replay. Times are since start.
type world struct {
	cfg      fleet.Config
	o        Options
	start    time.Time
	interval time.Duration
	dice     *rand.Rand

	now      time.Duration
	nextTick time.Duration
	agenda   agenda
	queues   []queue
	index    map[string]uint8
	machines []*machine // all that ever were, by index
	live     []*machine // not terminated by the table, in order of id
	lost     []*machine // no more in the table, still in the inventories
	idle     idlers
	spot     uint32 // lanes

	offers []fleet.Offer
	memory fleet.Memory
	latch  *fleet.Latch
	ledger ledger
	ticks  int
	result Result
	series series
}

func newWorld(cfg fleet.Config, o Options) *world {
	w := &world{
		cfg: cfg, o: o, index: map[string]uint8{}, spot: spotLanes(), idle: idlers{packed: o.Packed},
		interval: orElse(cfg.EvaluationInterval, time.Minute),
		dice:     rand.New(rand.NewPCG(o.Seed, 1)),
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Queues)) {
		w.index[name] = uint8(len(w.queues))
		w.queues = append(w.queues, queue{name: name})
	}
	return w
}

// begin sets the clock by the first job, and the VPS worker to work.
func (w *world) begin(first time.Time) {
	w.start = first.Truncate(w.interval)
	w.series.begin(w.interval, len(w.queues))
	w.ledger.begin(w.start, w.cfg.Location)
	w.offers = offersOf(w.cfg, w.o.Slots)
	kept, slots := map[string]int{}, 0
	for name, q := range w.cfg.Queues {
		kept[name] = q.BaselineWorkers
		slots += q.BaselineWorkers
	}
	row := fleet.Worker{
		ID: "vps", Place: fleet.Place{Provider: "vps", Market: fleet.VPS}, Status: fleet.Active,
		Slots: max(slots, w.o.VPSSlots), Queues: slices.Sorted(maps.Keys(w.cfg.Queues)),
		ProvisionedAt: w.start, LaunchedAt: w.start, RegisteredAt: w.start, AccruedUntil: w.start,
	}
	m := w.add(row, kept)
	m.state = fleet.MachineRunning
	w.offerWork(m)
}

// add puts a machine and its row down.
func (w *world) add(row fleet.Worker, kept map[string]int) *machine {
	m := &machine{
		row: row, state: fleet.MachinePending, index: int32(len(w.machines)),
		slots: make([]slot, row.Slots), kept: make([]int, len(w.queues)), inUse: make([]int, len(w.queues)),
		shared: row.Slots, launchedAt: w.now, lanes: allLanes,
	}
	for _, name := range row.Queues {
		if q, ok := w.index[name]; ok {
			m.queues = append(m.queues, q)
			m.kept[q] = kept[name]
			m.shared -= kept[name]
		}
	}
	m.shared = max(0, m.shared)
	w.bound(m)
	w.machines = append(w.machines, m)
	at, _ := slices.BinarySearchFunc(w.live, row.ID, func(x *machine, id string) int {
		switch {
		case x.row.ID < id:
			return -1
		case x.row.ID > id:
			return 1
		}
		return 0
	})
	w.live = slices.Insert(w.live, at, m)
	return m
}

// bound works out what a worker may claim.
func (w *world) bound(m *machine) {
	m.lanes = lanesUpTo(m.row.MaxRank)
	if m.row.Market == fleet.Spot {
		m.lanes &= w.spot
	}
}

// enqueue is the arrival of a job.
func (w *world) enqueue(p fleet.PastJob) error {
	at, ok := w.index[p.Queue]
	if !ok {
		return fmt.Errorf("the job of %s is in queue %q, which the settings do not name", p.At, p.Queue)
	}
	q := &w.queues[at]
	q.arrived(w.now)
	q.result.Jobs++
	w.place(job{
		arrived: w.now, since: w.now, service: p.Service, left: p.Service,
		queue: at, lane: laneOf(p.Priority, classFor(p)), failed: p.Failed,
	})
	return nil
}

// place gives a job to whoever has waited for one the longest, or lets it wait.
func (w *world) place(j job) {
	for m := w.idle.first; m != nil; m = m.next {
		if m.lanes&(1<<j.lane) != 0 && m.serves(j.queue) && m.room(j.queue) {
			w.idle.remove(m)
			w.run(m, j)
			w.wait(m)
			return
		}
	}
	w.queues[j.queue].push(j)
}

// offerWork fills the free slots of a worker, which then waits for more.
func (w *world) offerWork(m *machine) {
	for m.claims() {
		j, ok := w.take(m)
		if !ok {
			break
		}
		w.run(m, j)
	}
	w.wait(m)
}

func (w *world) wait(m *machine) {
	if m.claims() {
		w.idle.push(m)
	}
}

// take is the lowest of the heads of all queues that a worker serves.
func (w *world) take(m *machine) (job, bool) {
	best, lane, found := uint8(0), uint8(0), false
	for _, at := range m.queues {
		q := &w.queues[at]
		l, ok := q.head(m.lanes)
		if !ok || !m.room(at) {
			continue
		}
		if !found || priorityOf(l) < priorityOf(lane) ||
			priorityOf(l) == priorityOf(lane) && q.lanes[l].first().since < w.queues[best].lanes[lane].first().since {
			best, lane, found = at, l, true
		}
	}
	if !found {
		return job{}, false
	}
	return w.queues[best].pop(lane), true
}

// run starts a job in a free slot.
func (w *world) run(m *machine, j job) {
	for i := range m.slots {
		s := &m.slots[i]
		if s.busy {
			continue
		}
		s.job, s.started, s.busy = j, w.now, true
		s.turn++
		m.busy++
		m.inUse[j.queue]++
		w.queues[j.queue].running++
		w.agenda.add(event{at: w.now + j.left, kind: jobEnds, machine: m.index, slot: uint16(i), turn: s.turn})
		return
	}
}

// release empties a slot.
func (w *world) release(m *machine, s *slot) {
	s.busy = false
	m.busy--
	m.inUse[s.job.queue]--
	w.queues[s.job.queue].running--
}
