package simulate

import (
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// machine is one with its worker.
type machine struct {
	row   fleet.Worker // as the workers table has it, but for what observe fills in
	state fleet.MachineState
	index int32
	// lanes are what its market and its bound on priorities let it claim.
	lanes uint32
	// queues are those it serves; kept are slots for one of them alone, in use
	// how many of its jobs run.
	queues []uint8
	kept   []int
	inUse  []int
	shared int // slots that are kept for none
	slots  []slot
	busy   int
	// waiting machines are linked in the order in which they began to wait.
	waiting      bool
	before, next *machine

	readyAt, launchedAt, endedAt time.Duration
	jobDone                      time.Duration // when its last job ended
	warned                       bool
	forgotten                    time.Time // when its row ended
	booked, corrected            fleet.Money
}

// slot is one job at a time.
type slot struct {
	job     job
	started time.Duration
	turn    uint32 // how many jobs it has been given
	busy    bool
}

// claims says whether its worker takes jobs at all.
func (m *machine) claims() bool {
	return m.lanes != 0 && m.row.Status == fleet.Active && m.state == fleet.MachineRunning && m.busy < len(m.slots)
}

// room says whether a job of a queue may start: in a slot that is kept for it, or
// in one that is kept for none.
func (m *machine) room(queue uint8) bool {
	return m.kept[queue] > m.inUse[queue] || m.sharedInUse() < m.shared
}

func (m *machine) sharedInUse() int {
	n := 0
	for q, used := range m.inUse {
		n += max(0, used-m.kept[q])
	}
	return n
}

func (m *machine) serves(queue uint8) bool {
	for _, q := range m.queues {
		if q == queue {
			return true
		}
	}
	return false
}

// idlers is a list of machines with a free slot: the one that has waited for a
// job the longest first, as a blocking pop from Redis serves them, or, packed, the
// one that was started first.
type idlers struct {
	first, last *machine
	packed      bool
}

func (l *idlers) push(m *machine) {
	if m.waiting {
		return
	}
	before := l.last
	for l.packed && before != nil && before.index > m.index {
		before = before.before
	}
	m.waiting, m.before, m.next = true, before, l.first
	if before != nil {
		m.next = before.next
		before.next = m
	} else {
		l.first = m
	}
	if m.next == nil {
		l.last = m
	} else {
		m.next.before = m
	}
}

func (l *idlers) remove(m *machine) {
	if !m.waiting {
		return
	}
	if m.before == nil {
		l.first = m.next
	} else {
		m.before.next = m.next
	}
	if m.next == nil {
		l.last = m.before
	} else {
		m.next.before = m.before
	}
	m.waiting, m.before, m.next = false, nil, nil
}
