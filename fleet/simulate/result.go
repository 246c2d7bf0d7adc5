package simulate

import (
	"slices"
	"strings"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// Result is one replay.
type Result struct {
	Name     string        `json:"name"`
	Mode     fleet.Mode    `json:"mode"`
	Policy   fleet.Policy  `json:"policy"`
	From     time.Time     `json:"from"`
	Until    time.Time     `json:"until"`
	Ticks    int           `json:"ticks"`
	Total    QueueResult   `json:"total"`
	Queues   []QueueResult `json:"queues"`
	Machines Machines      `json:"machines"`
	Money    Costs         `json:"money"`
	// Limits counts decisions that a limit changed, Holds why nothing was done,
	// both by queue and tick.
	Limits []Count      `json:"limits"`
	Holds  []Count      `json:"holds"`
	Latch  *fleet.Latch `json:"latch,omitempty"` // the daily limit tripped
	Series []Point      `json:"series"`

	limits, holds map[string]int
	removals      map[string]time.Time // by queue: the last
}

// QueueResult is what became of the jobs of a queue.
type QueueResult struct {
	Name       string `json:"name"`
	Jobs       int64  `json:"jobs"`
	Done       int64  `json:"done"`
	Failed     int64  `json:"failed"`
	Unfinished int64  `json:"unfinished"` // at the end: their waits up to then count
	Requeued   int64  `json:"requeued"`   // given back by machines that went
	Waits      Waits  `json:"waits"`
	// Spent is what machines cost that were launched for the queue.
	Spent fleet.Money `json:"spent"`

	waits histogram
}

// Machines is what was started.
type Machines struct {
	Hours        float64 `json:"hours"` // from launch to end, booting included
	SpotHours    float64 `json:"spot_hours"`
	Launches     int     `json:"launches"`
	Refused      int     `json:"refused"`     // candidates without capacity
	ShortLives   int     `json:"short_lives"` // under 15 minutes
	Flaps        int     `json:"flaps"`       // launches within 10 minutes of a removal for the queue
	Interrupted  int     `json:"interrupted"`
	Peak         int     `json:"peak"`          // at once, as they are counted for max_workers
	PeakPaid     int     `json:"peak_paid"`     // at once, until the provider ended them
	StillRunning int     `json:"still_running"` // at the end
}

// Costs is money.
type Costs struct {
	Spent  fleet.Money `json:"spent"`  // by the machines' own start and end
	Booked fleet.Money `json:"booked"` // in spend_entries
	// MaxHour and MaxDay are the most that was booked within 60 minutes and
	// within a day, MaxRate the most that machines could cost an hour.
	MaxHour fleet.Money `json:"max_hour"`
	MaxDay  fleet.Money `json:"max_day"`
	MaxRate fleet.Money `json:"max_rate"`
	Days    []Day       `json:"days"`
}

// Day is what was booked in one.
type Day struct {
	Day    string      `json:"day"`
	Booked fleet.Money `json:"booked"`
}

// Count is how often something was.
type Count struct {
	Name  string `json:"name"`
	Times int    `json:"times"`
}

// shortLife is under what a machine was hardly worth its boot, flap after what
// time a launch has nothing to do with the removal before it.
const (
	shortLife = 15 * time.Minute
	flap      = 10 * time.Minute
)

func (q *QueueResult) count(wait time.Duration, failed bool) {
	q.Done++
	if failed {
		q.Failed++
	}
	q.waits.add(wait)
}

// note counts what a decision says.
func (r *Result) note(d fleet.Decision) {
	if r.limits == nil {
		r.limits, r.holds, r.removals = map[string]int{}, map[string]int{}, map[string]time.Time{}
	}
	// A hold names its limit also where nothing more was wanted.
	if d.Limit != "" && (d.Kind != fleet.KindHold || d.Wanted > d.Allowed) {
		name, _, _ := strings.Cut(d.Limit, " (")
		r.limits[name]++
	}
	switch d.Kind {
	case fleet.KindHold:
		r.holds[d.Rule]++
	case fleet.KindDrain:
		r.removals[d.Queue] = d.At
	case fleet.KindLaunch:
		if last, ok := r.removals[d.Queue]; ok && d.At.Sub(last) <= flap {
			r.Machines.Flaps++
		}
	}
}

// bill adds up a machine that has ended.
func (w *world) bill(m *machine) {
	life := m.endedAt - m.launchedAt
	cost := m.row.Rate.For(max(life, m.row.Granularity))
	w.result.Money.Spent += cost
	w.result.Machines.Hours += life.Hours()
	if m.row.Market == fleet.Spot {
		w.result.Machines.SpotHours += life.Hours()
	}
	if life < shortLife {
		w.result.Machines.ShortLives++
	}
	if len(m.queues) > 0 {
		w.queues[m.queues[0]].result.Spent += cost
	}
}

// conclude ends the replay: what still waits, and what still runs, counts as
// it stands.
func (w *world) conclude() Result {
	r := &w.result
	for _, m := range w.live {
		w.abandon(m)
	}
	r.Name, r.Mode, r.Policy = w.o.Name, w.cfg.Mode, w.cfg.Policy
	r.From, r.Until, r.Ticks, r.Latch = w.start, w.time(), w.ticks, w.latch
	r.Limits, r.Holds = counts(r.limits), counts(r.holds)
	r.Money.Days, r.Series = w.ledger.days(), w.series.points
	r.Total.Name = "all"
	for i := range w.queues {
		q := &w.queues[i]
		w.unfinished(q)
		q.result.Name, q.result.Waits = q.name, q.result.waits.waits()
		r.Queues = append(r.Queues, q.result)
		r.Total.add(&q.result)
	}
	r.Total.Waits = r.Total.waits.waits()
	return *r
}

func (q *QueueResult) add(o *QueueResult) {
	q.Jobs += o.Jobs
	q.Done += o.Done
	q.Failed += o.Failed
	q.Unfinished += o.Unfinished
	q.Requeued += o.Requeued
	q.Spent += o.Spent
	q.waits.merge(&o.waits)
}

// abandon counts a machine that still runs, and the jobs that run on it.
func (w *world) abandon(m *machine) {
	for i := range m.slots {
		if s := &m.slots[i]; s.busy {
			q := &w.queues[s.job.queue].result
			q.Unfinished++
			q.waits.add(w.now - s.job.arrived - (s.job.service - s.job.left) - (w.now - s.started))
		}
	}
	if m.row.Cloud() && m.state != fleet.MachineTerminated {
		m.endedAt = w.now
		w.result.Machines.StillRunning++
		w.bill(m)
	}
}

func (w *world) unfinished(q *queue) {
	for lane := range q.lanes {
		f := &q.lanes[lane]
		for f.n > 0 {
			j := f.pop()
			q.result.Unfinished++
			q.result.waits.add(w.now - j.arrived - (j.service - j.left))
		}
	}
}

// counts lists the most frequent first.
func counts(of map[string]int) []Count {
	list := []Count{}
	for name, n := range of {
		list = append(list, Count{name, n})
	}
	slices.SortFunc(list, func(a, b Count) int {
		if a.Times != b.Times {
			return b.Times - a.Times
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}
