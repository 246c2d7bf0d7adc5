package fleettest

import (
	"fmt"
	"slices"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// machine is one that was launched. Where it stands follows from its times, so
// that a cloud needs nobody to move it forward.
type machine struct {
	fleet.Machine
	fleetID     string
	request     fleet.LaunchRequest
	bid         fleet.Money
	granularity time.Duration
	surcharge   fleet.Money
	runsAt      time.Time
	asked       time.Time // for its end; zero: not yet
	noticed     time.Time // of an interruption
	over        time.Time // when it ends; zero: nobody knows
	stopped     time.Time // when it stopped without being terminated
	vanished    bool      // was answered, and never was
	broken      bool      // runs, and its worker never registers
	settled     bool      // its end has been told to its worker
}

// endsAt is when the machine is terminated, far away when that is not known.
func (m *machine) endsAt(now time.Time) time.Time {
	if m.over.IsZero() {
		return now.AddDate(100, 0, 0)
	}
	return m.over
}

func (m *machine) end(at time.Time) {
	if m.over.IsZero() || at.Before(m.over) {
		m.over = at
	}
}

func (m *machine) interrupt(now time.Time, notice time.Duration) {
	if m.noticed.IsZero() {
		m.noticed = now
	}
	m.end(now.Add(notice))
}

// state is where it stood at a time.
func (m *machine) state(at time.Time) fleet.MachineState {
	switch {
	case !m.endsAt(at).After(at):
		return fleet.MachineTerminated
	case !m.asked.IsZero() && !m.asked.After(at):
		return fleet.MachineStopping
	case !m.stopped.IsZero() && !m.stopped.After(at):
		return fleet.MachineStopped
	case m.runsAt.After(at):
		return fleet.MachinePending
	}
	return fleet.MachineRunning
}

// shown is what is told of it.
func (m *machine) shown(at time.Time) fleet.Machine {
	told := m.Machine
	told.State = m.state(at)
	if told.State == fleet.MachineTerminated {
		told.TerminatedAt = m.over
	}
	return told
}

type disk struct {
	fleet.Disk
	fleetID string
}

// Live counts the machines that are not terminated, of every fleet.
func (c *Cloud) Live() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live(c.now(), nil)
}

func (c *Cloud) live(now time.Time, place *fleet.Place) int {
	n := 0
	for _, m := range c.machines {
		if !m.vanished && m.endsAt(now).After(now) && (place == nil || m.Place == *place) {
			n++
		}
	}
	return n
}

// Machines lists what really is and was, as no caller can see it: of every
// fleet, without delay, for ever.
func (c *Cloud) Machines() []fleet.Machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []fleet.Machine
	for _, m := range c.machines {
		if !m.vanished {
			list = append(list, m.shown(c.now()))
		}
	}
	return list
}

// Put adds n machines of a fleet that are running already, and answers their
// IDs: such as a crash leaves behind.
func (c *Cloud) Put(fleetID string, n int, place fleet.Place) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []string
	for range n {
		r := fleet.LaunchRequest{FleetID: fleetID}
		r.Place = place
		m := c.add(r, fleet.Offer{Place: place}, c.now())
		m.runsAt = m.LaunchedAt
		ids = append(ids, m.ID)
	}
	return ids
}

// add makes a machine.
func (c *Cloud) add(r fleet.LaunchRequest, o fleet.Offer, now time.Time) *machine {
	c.made++
	m := &machine{
		Machine: fleet.Machine{
			Place: o.Place, ID: fmt.Sprintf("%s-%04d", c.name, c.made), WorkerID: r.WorkerID, Token: r.Token, LaunchedAt: now,
		},
		fleetID: r.FleetID, request: r, bid: r.Bid, granularity: o.Granularity, surcharge: o.Surcharge,
		runsAt: now.Add(c.knobs.Boot),
	}
	if r.MaxLife > 0 && !c.knobs.NoMaxLife {
		m.over = now.Add(r.MaxLife)
	}
	c.machines = append(c.machines, m)
	c.byID[m.ID] = m
	return m
}

// Interrupt takes a machine away after a notice, as spot machines are.
func (c *Cloud) Interrupt(id string, notice time.Duration) {
	c.with(id, func(m *machine, now time.Time) { m.interrupt(now, notice) })
}

// Stop leaves a machine stopped, with its disk paid for.
func (c *Cloud) Stop(id string) { c.with(id, func(m *machine, now time.Time) { m.stopped = now }) }

// Break has a machine run whose worker never registers, or never again.
func (c *Cloud) Break(id string) { c.with(id, func(m *machine, _ time.Time) { m.broken = true }) }

func (c *Cloud) with(id string, do func(*machine, time.Time)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.byID[id]; m != nil {
		do(m, c.now())
	}
}

// PutDisk adds a disk that belongs to no machine.
func (c *Cloud) PutDisk(fleetID, workerID string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.addDisk(fleetID, workerID, c.now())
}

func (c *Cloud) addDisk(fleetID, workerID string, now time.Time) string {
	c.made++
	d := disk{fleet.Disk{ID: fmt.Sprintf("%s-disk-%04d", c.name, c.made), WorkerID: workerID, CreatedAt: now}, fleetID}
	c.disks = append(c.disks, d)
	return d.ID
}

// Disks counts the disks that belong to no machine.
func (c *Cloud) Disks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.disks)
}

// Billed is what the machines really cost between two times: from their launch
// to their end, at the price that their place had, surcharges and the least
// time that is paid for included.
func (c *Cloud) Billed(from, until time.Time) fleet.Money {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sum fleet.Money
	for _, m := range c.machines {
		if m.vanished {
			continue
		}
		end := m.endsAt(until)
		if least := m.LaunchedAt.Add(m.granularity); end.Before(least) {
			end = least
		}
		sum += c.cost(m, later(from, m.LaunchedAt), earlier(until, end))
	}
	return sum
}

func (c *Cloud) cost(m *machine, from, until time.Time) fleet.Money {
	if !until.After(from) {
		return 0
	}
	sum := m.surcharge.For(until.Sub(from))
	prices := c.prices[m.Place]
	for i, p := range prices {
		end := until
		if i+1 < len(prices) {
			end = earlier(until, prices[i+1].at)
		}
		start := later(from, p.at)
		if i == 0 {
			start = from
		}
		if m.Market != fleet.Spot { // a price on demand stays what it was
			if i+1 < len(prices) && !prices[i+1].at.After(m.LaunchedAt) {
				continue
			}
			return sum + p.price.For(until.Sub(from))
		}
		if end.After(start) {
			sum += p.price.For(end.Sub(start))
		}
	}
	return sum
}

// Tokens lists the tokens of the launches that made a machine, in order.
func (c *Cloud) Tokens() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for _, m := range c.machines {
		if m.Token != "" && !slices.Contains(list, m.Token) {
			list = append(list, m.Token)
		}
	}
	return list
}
