package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

// change is what happens between two ticks.
func (p *property) change() {
	one := func(in int) bool { return p.rng.IntN(in) == 0 }
	p.databaseAway, p.redisAway = max(0, p.databaseAway-1), max(0, p.redisAway-1)
	if one(30) && p.databaseAway == 0 {
		p.databaseAway = 1 + p.rng.IntN(4)
	}
	if one(25) {
		p.redisAway = 1 + p.rng.IntN(4)
	}
	if one(40) && p.databaseAway == 0 {
		p.restart()
	}
	p.work(one)
	p.weather(one)
	p.operate(one)
	p.world.Advance(time.Minute)
}

// work is what users send: a burst now and then.
func (p *property) work(one func(int) bool) {
	n := p.rng.IntN(3)
	if one(15) {
		n += 5 + p.rng.IntN(40)
	}
	for range n {
		p.world.Store.Enqueue(fleettest.Job{
			Queue: []string{"images", "media", "media", "bulk"}[p.rng.IntN(4)], Priority: 1 + p.rng.IntN(10), Tenant: "a",
			Work: time.Duration(5+p.rng.IntN(400)) * time.Second, Estimated: time.Duration(p.rng.IntN(50)) * time.Minute, Resumes: one(2),
		})
	}
}

// weather is what clouds do.
func (p *property) weather(one func(int) bool) {
	for _, name := range []string{"aws", "google"} {
		c := p.world.Clouds[name]
		for _, m := range c.Machines() {
			switch {
			case m.State != fleet.MachineRunning || !one(60):
			case m.Market == fleet.Spot && one(2):
				c.Interrupt(m.ID, time.Duration(p.rng.IntN(120))*time.Second)
			case one(2):
				c.Break(m.ID)
			default:
				p.killed[m.WorkerID] = true
				p.world.Kill(m.WorkerID)
			}
		}
		if one(10) {
			kind, zone := []string{"small", "large"}[p.rng.IntN(2)], name+"-1"+[]string{"a", "b"}[p.rng.IntN(2)]
			c.SetOffer(p.offer(c, kind, zone, fleet.Spot, 3+p.rng.Int64N(16)))
		}
	}
}

// operate is what an operator does: other settings, machines by hand, and a
// reset of the latch.
func (p *property) operate(one func(int) bool) {
	if one(50) {
		q := p.cfg.Queues["media"]
		q.MaxWorkers = 1 + p.rng.IntN(8)
		p.cfg.Queues = map[string]fleet.Queue{"images": p.cfg.Queues["images"], "media": q, "bulk": p.cfg.Queues["bulk"]}
	}
	if one(60) {
		p.cfg.Mode = []fleet.Mode{fleet.VPSOnly, fleet.Hybrid, fleet.CloudFirst}[p.rng.IntN(3)]
	}
	ctx := context.Background()
	if one(30) {
		r := fleet.Request{ID: fmt.Sprintf("r%d", p.rng.Uint32()), At: p.world.Clock.Now(), Do: fleet.KindLaunch, Queue: "media",
			Count: 1 + p.rng.IntN(3), Spot: one(2), For: time.Duration(p.rng.IntN(90)) * time.Minute}
		if alive := p.world.Alive(); one(3) && len(alive) > 0 {
			r = fleet.Request{ID: r.ID, At: r.At, Do: []fleet.Kind{fleet.KindDrain, fleet.KindTerminate}[p.rng.IntN(2)], WorkerID: alive[p.rng.IntN(len(alive))]}
		}
		_ = p.world.Store.Ask(ctx, r) // a database that is away takes none
	}
	if one(40) {
		_, _ = p.world.Store.Reset(ctx)
	}
}

// tick does one and looks at what must hold.
func (p *property) tick() {
	live, serving := p.live(), p.serving()
	p.launches, p.blind = nil, false
	report, _ := p.s.Tick(context.Background()) // what could not be recorded comes with a later tick
	for _, d := range report.Decisions {
		if d.Kind != fleet.KindAlert && d.Kind != fleet.KindHold {
			p.story = append(p.story, fmt.Sprintf("%s %s %s %s: %s", report.At.Format(time.TimeOnly), d.Kind, d.Rule, d.Outcome, d.Sentence))
		}
	}
	p.story = p.story[max(0, len(p.story)-25):]
	p.capsHold(live, serving)
	p.moneyHolds()
	p.everyQueueIsDecidedOn(report)
	if (p.cfg.Mode == fleet.VPSOnly || report.Snapshot.Latch != nil) && len(p.launches) > 0 {
		p.fail("%d launches in vps_only", len(p.launches))
	}
}

func (p *property) fail(format string, args ...any) {
	p.t.Helper()
	if !p.t.Failed() {
		p.t.Log(strings.Join(p.story, "\n"))
	}
	p.t.Errorf("at %s: %s", p.world.Clock.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

func (p *property) live() map[string]int {
	n := map[string]int{}
	for name, c := range p.world.Clouds {
		n[name] = c.Live()
	}
	return n
}

// serving counts the workers of a queue, as max_workers does: those of machines
// that are there, whatever rows say.
func (p *property) serving() map[string]int {
	n := map[string]int{}
	for name, q := range p.cfg.Queues {
		n[name] = q.BaselineWorkers
	}
	for _, c := range p.world.Clouds {
		for _, m := range c.Machines() {
			row, _, _ := p.world.Store.Worker(m.WorkerID)
			for _, queue := range row.Queues {
				if m.State != fleet.MachineTerminated {
					n[queue]++
				}
			}
		}
	}
	return n
}

// capsHold allows what was there before a cap was lowered, and nothing more.
func (p *property) capsHold(live, serving map[string]int) {
	for name, n := range p.live() {
		if most := p.cfg.Providers[name].MaxInstances; n > live[name] && n > most {
			p.fail("%s has %d machines, %d before the tick; max_instances is %d", name, n, live[name], most)
		}
	}
	for name, n := range p.serving() {
		if most := p.cfg.Queues[name].MaxWorkers; n > serving[name] && n > most {
			p.fail("queue %s has %d workers, %d before the tick; max_workers is %d", name, n, serving[name], most)
		}
	}
}

// moneyHolds looks at what the clouds will bill, not at what was booked. Bills
// round each stretch of a machine's price up.
func (p *property) moneyHolds() {
	now, rounding := p.world.Clock.Now(), fleet.Money(0)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	var hour, day fleet.Money
	for _, c := range p.world.Clouds {
		hour += c.Billed(now.Add(-time.Hour), now)
		day += c.Billed(midnight, now)
		rounding += fleet.Money(20 * len(c.Machines()))
	}
	if hour > p.cfg.Limits.Hourly+rounding {
		p.fail("%s were spent within an hour; the limit is %s", hour, p.cfg.Limits.Hourly)
	}
	if day > p.cfg.Limits.Daily+rounding {
		p.fail("%s were spent within a day; the limit is %s", day, p.cfg.Limits.Daily)
	}
}

func (p *property) everyQueueIsDecidedOn(r fleet.Report) {
	for name := range p.cfg.Queues {
		if r.Snapshot.Queues != nil && !slices.ContainsFunc(r.Decisions, func(d fleet.Decision) bool { return d.Queue == name }) {
			p.fail("nothing was decided on queue %s", name)
		}
	}
}

// settle has all faults end and the mode be vps_only: then nothing may be left.
func (p *property) settle() {
	p.unruly, p.databaseAway, p.redisAway = false, 0, 0
	p.cfg.Mode = fleet.VPSOnly
	for range 25 {
		p.world.Advance(time.Minute)
		p.tick()
	}
	for name, c := range p.world.Clouds {
		if n := c.Live(); n > 0 {
			p.fail("%s still has %d machines", name, n)
		}
		if n := c.Disks(); n > 0 {
			p.fail("%s still has %d disks", name, n)
		}
	}
	rows, err := p.world.Store.Fleet(context.Background())
	if err != nil || len(rows) != 1 {
		p.fail("%d workers are left beside the VPS worker (%v)", len(rows)-1, err)
	}
	p.booksAgree()
}

// booksAgree compares the ledger with the bills, once all is over. They differ by
// what a price moved between two ticks, and by the time in which machines came
// and went unseen.
func (p *property) booksAgree() {
	now := p.world.Clock.Now()
	booked, err := p.world.Store.Spent(context.Background(), now.AddDate(0, 0, -2), now.AddDate(0, 0, 2))
	if err != nil {
		p.t.Fatal(err)
	}
	var billed fleet.Money
	machines := 0
	for _, c := range p.world.Clouds {
		billed += c.Billed(now.AddDate(0, 0, -2), now)
		machines += len(c.Machines())
	}
	if slack := billed/20 + fleet.Money(machines)*fleet.Cent/2; booked < billed-slack || booked > billed+slack {
		p.fail("%d machines cost %s, and %s were booked", machines, billed, booked)
	}
}

// watched is a cloud whose calls are looked at.
type watched struct {
	*fleettest.Cloud
	p *property
}

func (w watched) Launch(ctx context.Context, r fleet.LaunchRequest) (fleet.Machine, error) {
	w.p.mu.Lock()
	w.p.launches = append(w.p.launches, r)
	w.p.mu.Unlock()
	return w.Cloud.Launch(ctx, r)
}

// Terminate holds that no living worker loses a job before its deadline.
func (w watched) Terminate(ctx context.Context, id string) error {
	for _, m := range w.Machines() {
		if m.ID == id && m.State != fleet.MachineTerminated && slices.Contains(w.p.world.Alive(), m.WorkerID) {
			w.p.mayEnd(m.WorkerID)
		}
	}
	return w.Cloud.Terminate(ctx, id)
}

func (p *property) mayEnd(workerID string) {
	row, _, _ := p.world.Store.Worker(workerID)
	over := row.Status == fleet.Draining && !row.DrainDeadline.IsZero() && !row.DrainDeadline.After(p.world.Clock.Now())
	p.mu.Lock()
	defer p.mu.Unlock()
	if row.Claimed > 0 && !over && !p.blind {
		p.fail("worker %s is ended with %d jobs before its deadline", workerID, row.Claimed)
	}
}
