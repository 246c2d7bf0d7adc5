package simulate

import (
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// Point is a stretch of time: the most of what there was in it.
type Point struct {
	Second   int64       `json:"second"` // of its beginning, since the replay's
	Depth    []int       `json:"depth"`  // waiting jobs by queue, in order of name
	Oldest   float64     `json:"oldest_seconds"`
	OnDemand int         `json:"on_demand"`
	Spot     int         `json:"spot"`
	Booting  int         `json:"booting"`
	Draining int         `json:"draining"`
	Booked   fleet.Money `json:"booked"` // from the beginning on
	Today    fleet.Money `json:"today"`  // since midnight
}

// most is how many points a series has at most: more than a plot has dots.
const most = 2000

// series is sampled at every tick. When it grows too long, two neighbours
// become one, from then on twice as long.
type series struct {
	points []Point
	step   time.Duration
	queues int
}

func (s *series) begin(step time.Duration, queues int) { s.step, s.queues = step, queues }

// at is the point that a time falls into.
func (s *series) at(now time.Duration) *Point {
	for {
		second := int64(now.Truncate(s.step) / time.Second)
		if n := len(s.points); n > 0 && s.points[n-1].Second == second {
			return &s.points[n-1]
		}
		if len(s.points) < most {
			s.points = append(s.points, Point{Second: second, Depth: make([]int, s.queues)})
			return &s.points[len(s.points)-1]
		}
		s.halve()
	}
}

func (s *series) halve() {
	s.step *= 2
	kept := s.points[:0]
	for _, p := range s.points {
		second := int64((time.Duration(p.Second) * time.Second).Truncate(s.step) / time.Second)
		if n := len(kept); n > 0 && kept[n-1].Second == second {
			kept[n-1].raise(p)
			continue
		}
		p.Second = second
		kept = append(kept, p)
	}
	s.points = kept
}

func (p *Point) raise(o Point) {
	for i, n := range o.Depth {
		p.Depth[i] = max(p.Depth[i], n)
	}
	p.Oldest = max(p.Oldest, o.Oldest)
	if o.OnDemand+o.Spot+o.Booting+o.Draining > p.OnDemand+p.Spot+p.Booting+p.Draining {
		p.OnDemand, p.Spot, p.Booting, p.Draining = o.OnDemand, o.Spot, o.Booting, o.Draining
	}
	p.Booked, p.Today = max(p.Booked, o.Booked), max(p.Today, o.Today)
}

// sample notes how things stand after a tick.
func (w *world) sample(snap fleet.Snapshot) {
	now := Point{Depth: make([]int, len(w.queues)), Booked: w.result.Money.Booked, Today: w.ledger.today}
	for i, q := range snap.Queues {
		now.Depth[i] = int(q.Depth)
		now.Oldest = max(now.Oldest, q.Oldest.Seconds())
	}
	rate, paid := fleet.Money(0), 0
	for _, m := range w.live {
		if !m.row.Cloud() {
			continue
		}
		switch {
		case m.row.Status == fleet.Draining:
			now.Draining++
		case m.row.Status == fleet.Provisioning:
			now.Booting++
		case m.row.Market == fleet.Spot:
			now.Spot++
		default:
			now.OnDemand++
		}
		if m.state != fleet.MachineTerminated {
			rate += m.row.Ceiling
			paid++
		}
	}
	x := &w.result.Machines
	x.Peak = max(x.Peak, now.Draining+now.Booting+now.Spot+now.OnDemand)
	x.PeakPaid = max(x.PeakPaid, paid)
	w.result.Money.MaxRate = max(w.result.Money.MaxRate, rate)
	w.series.at(w.now).raise(now)
}
