package simulate

import (
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// Of a machine that is taken away, by provider: how long its worker may go on
// after the notice, and when the machine goes.
const (
	googleDrain, googleNotice = 20 * time.Second, 30 * time.Second
	drainNotice, takenNotice  = 100 * time.Second, 2 * time.Minute
)

// stopping is how long a machine still runs, and is paid for, after it was asked to end.
const stopping = 30 * time.Second

// happen carries out one event.
func (w *world) happen(e event) {
	m := w.machines[e.machine]
	switch e.kind {
	case jobEnds:
		if s := &m.slots[e.slot]; s.busy && s.turn == e.turn {
			w.jobEnds(m, s)
		}
	case machineReady:
		w.register(m)
	case machineWarned:
		w.warn(m)
	case machineTaken, machineStopped:
		w.end(m)
	case drainIsOver:
		if m.row.Status == fleet.Draining && !m.row.DrainDeadline.After(w.time()) {
			w.giveBack(m)
			m.row.LeftAt = w.time()
		}
	}
}

// time is now, as decisions read it.
func (w *world) time() time.Time { return w.start.Add(w.now) }

func (w *world) jobEnds(m *machine, s *slot) {
	w.release(m, s)
	m.jobDone = w.now
	q := &w.queues[s.job.queue]
	q.finished(s.job)
	q.result.count(w.now-s.job.arrived-s.job.service, s.job.failed)
	w.offerWork(m)
}

// register makes a machine that has booted a worker.
func (w *world) register(m *machine) {
	if m.state != fleet.MachinePending {
		return
	}
	m.state = fleet.MachineRunning
	m.row.RegisteredAt = w.time()
	m.readyAt = w.now
	if m.row.Status == fleet.Provisioning {
		m.row.Status = fleet.Active
	}
	w.offerWork(m)
}

// warn is the provider's notice that a spot machine goes: its worker drains by itself.
func (w *world) warn(m *machine) {
	if m.state != fleet.MachineRunning && m.state != fleet.MachinePending {
		return
	}
	within, taken := drainNotice, takenNotice
	if m.row.Provider == "google" {
		within, taken = googleDrain, googleNotice
	}
	m.warned = true
	w.result.Machines.Interrupted++
	w.drain(m, within)
	w.agenda.add(event{at: w.now + taken, kind: machineTaken, machine: m.index})
}

// drain stops a worker from claiming; a later deadline changes nothing.
func (w *world) drain(m *machine, within time.Duration) {
	deadline := w.time().Add(within)
	m.row.Status = fleet.Draining
	w.idle.remove(m)
	if m.row.DrainDeadline.IsZero() || deadline.Before(m.row.DrainDeadline) {
		m.row.DrainDeadline = deadline
		w.agenda.add(event{at: w.now + within, kind: drainIsOver, machine: m.index})
	}
}

// giveBack returns what a worker still runs to the queues. A long job with
// checkpoints has lost what it did since the last, any other all.
func (w *world) giveBack(m *machine) {
	for i := range m.slots {
		s := &m.slots[i]
		if !s.busy {
			continue
		}
		w.release(m, s)
		j := s.job
		if classOf(j.lane) == resumes {
			j.left -= (w.now - s.started).Truncate(w.o.Checkpoint)
		} else {
			j.left = j.service
		}
		j.since = w.now
		w.queues[j.queue].result.Requeued++
		w.place(j)
	}
}

// end is the machine's end as the provider knows it.
func (w *world) end(m *machine) {
	if m.state == fleet.MachineTerminated {
		return
	}
	w.giveBack(m)
	w.idle.remove(m)
	m.state = fleet.MachineTerminated
	m.endedAt = w.now
	w.bill(m)
}
