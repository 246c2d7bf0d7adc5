package fleettest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// Times of workers, unless a World says otherwise.
const (
	grain    = 5 * time.Second  // how far the world moves at once
	register = 30 * time.Second // from a machine that runs to a worker that registered
	beat     = 15 * time.Second
	lease    = time.Minute // after which the jobs of a dead worker are given back
)

// World is clouds whose machines run workers, which register in a store and
// work on its jobs. It stands still until Advance moves it; a scheduler is
// ticked by the test, in between.
type World struct {
	Clock  *Clock
	Store  *Store
	Clouds map[string]*Cloud
	// Register is from when a machine runs until its worker has registered
	// (default 30 s).
	Register time.Duration
	// Grain is how far it moves at once (default 5 s): nothing is more exact.
	Grain time.Duration
	// Blind workers do not watch for interruptions: they are cut off.
	Blind bool

	workers map[string]*worker   // that are alive, by id
	dead    map[string]time.Time // when they died, until their leases are over
	left    map[string]bool      // that said goodbye, and do not come back
}

// worker is one that works: of a machine, or a VPS worker.
type worker struct {
	id   string
	beat time.Time
	held map[int64]time.Time // jobs, and when they will be done
}

// NewWorld makes one without clouds, at a time.
func NewWorld(at time.Time) *World {
	clock := NewClock(at)
	return &World{
		Clock: clock, Store: NewStore(clock.Now), Clouds: map[string]*Cloud{},
		workers: map[string]*worker{}, dead: map[string]time.Time{}, left: map[string]bool{},
	}
}

// AddCloud adds a provider, by its name.
func (w *World) AddCloud(name string, offers ...fleet.Offer) *Cloud {
	c := NewCloud(name, w.Clock.Now, offers...)
	w.Clouds[name] = c
	return c
}

// Providers are the clouds, as a scheduler is given them.
func (w *World) Providers() map[string]fleet.Provider {
	m := map[string]fleet.Provider{}
	for name, c := range w.Clouds {
		m[name] = c
	}
	return m
}

// AddVPS registers a VPS worker for some queues.
func (w *World) AddVPS(id string, slots int, queues ...string) {
	now := w.Clock.Now()
	w.Store.Put(fleet.Worker{
		ID: id, Place: fleet.Place{Provider: "vps", Market: fleet.VPS}, Queues: queues, Slots: slots,
		Status: fleet.Active, RegisteredAt: now, LastHeartbeat: now, Origin: fleet.OriginManual,
	})
	w.workers[id] = &worker{id: id, beat: now, held: map[int64]time.Time{}}
}

// Kill ends a worker without a word, as a crash does. Its machine goes on.
func (w *World) Kill(workerID string) {
	if w.workers[workerID] == nil {
		return
	}
	delete(w.workers, workerID)
	w.dead[workerID] = w.Clock.Now()
	for _, c := range w.Clouds {
		c.breakWorker(workerID)
	}
}

// Alive lists the workers that work.
func (w *World) Alive() []string { return slices.Sorted(maps.Keys(w.workers)) }

// Advance moves the world forward.
func (w *World) Advance(d time.Duration) {
	for until := w.Clock.Now().Add(d); w.Clock.Now().Before(until); {
		w.Clock.Set(earlier(w.Clock.Now().Add(cmp.Or(w.Grain, grain)), until))
		w.step(w.Clock.Now())
	}
}

func (w *World) step(now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(w.Clouds)) {
		for _, e := range w.Clouds[name].events(now, cmp.Or(w.Register, register)) {
			w.happen(e, now)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.dead)) {
		if now.Sub(w.dead[id]) >= lease {
			w.Store.Leave(id)
			delete(w.dead, id)
		}
	}
	for _, id := range w.Alive() {
		w.work(w.workers[id], now)
	}
}

// event is what becomes of a machine's worker.
type event struct {
	workerID string
	up       bool
	left     time.Duration // of an interruption that was noticed; 0 none
}

// events tells which workers should be there, and which should not.
func (c *Cloud) events(now time.Time, register time.Duration) []event {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []event
	for _, m := range c.machines {
		if m.settled || m.WorkerID == "" || m.vanished {
			continue
		}
		e := event{workerID: m.WorkerID}
		state := m.state(now)
		e.up = !m.broken && state == fleet.MachineRunning && !m.runsAt.Add(register).After(now)
		if !m.noticed.IsZero() {
			e.left = max(0, m.endsAt(now).Sub(now))
		}
		m.settled = state == fleet.MachineTerminated
		if e.up || state != fleet.MachinePending {
			list = append(list, e)
		}
	}
	return list
}

func (c *Cloud) breakWorker(workerID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.machines {
		if m.WorkerID == workerID {
			m.broken = true
		}
	}
}

func (w *World) happen(e event, now time.Time) {
	is := w.workers[e.workerID] != nil
	switch {
	case !e.up && is:
		delete(w.workers, e.workerID)
		w.dead[e.workerID] = now
	case e.up && !is && !w.left[e.workerID] && w.Store.Register(e.workerID):
		w.workers[e.workerID] = &worker{id: e.workerID, beat: now, held: map[int64]time.Time{}}
	case e.up && is && e.left > 0 && !w.Blind:
		w.Store.notice(e.workerID, e.left)
	}
}

// notice is a worker that drains itself before its machine is taken away.
func (s *Store) notice(workerID string, left time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, err := s.living(workerID); err == nil && w.Status == fleet.Active {
		w.Status, w.DrainDeadline = fleet.Draining, s.now().Add(max(0, left-20*time.Second))
	}
}

// work is one step of a worker: what is done ends, what is over is given back,
// and what waits is claimed.
func (w *World) work(me *worker, now time.Time) {
	row, _, ok := w.Store.Worker(me.id)
	if !ok || row.Status == fleet.Terminated {
		delete(w.workers, me.id)
		return
	}
	for _, id := range slices.Sorted(maps.Keys(me.held)) {
		if !me.held[id].After(now) {
			w.Store.Finish(me.id, id)
			delete(me.held, id)
		}
	}
	if row.Status == fleet.Draining && !row.DrainDeadline.After(now) {
		w.Store.Release(me.id)
		clear(me.held)
	}
	for job, some := w.Store.Claim(me.id); some; job, some = w.Store.Claim(me.id) {
		me.held[job.ID] = now.Add(job.Work - job.Done)
	}
	if row.Status == fleet.Draining && len(me.held) == 0 {
		delete(w.workers, me.id)
		w.left[me.id] = true
		w.Store.Leave(me.id)
		return
	}
	if now.Sub(me.beat) >= beat {
		me.beat = now
		w.Store.Beat(me.id, 100*float64(len(me.held))/float64(max(1, row.Slots)))
	}
}
