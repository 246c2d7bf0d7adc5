package elastic

import (
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

const ms = time.Millisecond

func TestDecide(t *testing.T) {
	wait := policy{signal: WaitTime, min: 2, max: 16, target: 50 * ms, cooldown: 2 * time.Second}
	length := policy{signal: QueueLength, min: 2, max: 16, up: 4, down: 1, cooldown: 30 * time.Second}
	backlog := wait
	backlog.signal = SmoothedBacklog
	cases := []struct {
		name    string
		policy  policy
		s       snapshot
		action  Action
		wanted  int
		changed int
		limit   Limit
	}{
		{"a quiet pool at its floor is left alone", wait, snapshot{due: true, live: 2}, Hold, 0, 0, LimitNone},
		{"the floor is refilled between checks", wait, snapshot{live: 0}, Grow, 2, 2, LimitNone},
		{"the floor is refilled during the cooldown", length, snapshot{live: 1, grew: ago(time.Second)}, Grow, 1, 1, LimitNone},
		{"the floor waits while workers exit at once", wait, snapshot{live: 0, backoff: true}, Grow, 2, 0, LimitBackoff},
		{"the floor waits for retiring workers under the cap", policy{signal: WaitTime, min: 2, max: 2},
			snapshot{live: 0, retiring: 1}, Grow, 2, 1, LimitMaximum},
		{"a lost worker is replaced above the floor", wait, snapshot{live: 5, lost: 1}, Grow, 1, 1, LimitNone},
		{"more lost than the floor lacks are all replaced", wait, snapshot{live: 1, lost: 4}, Grow, 4, 4, LimitNone},
		{"a lower maximum is followed whatever the cooldown", wait,
			snapshot{live: 20, grew: ago(0)}, Shrink, 4, 4, LimitNone},

		{"wait: at its target it does not grow", wait, snapshot{due: true, live: 4, busy: 4, working: 4, queued: 3, wait: 50 * ms}, Hold, 0, 0, LimitNone},
		{"wait: above it does", wait, snapshot{due: true, live: 4, queued: 3, wait: 51 * ms}, Grow, 1, 1, LimitNone},
		{"wait: not between checks", wait, snapshot{live: 4, queued: 3, wait: 51 * ms}, Hold, 0, 0, LimitNone},
		{"wait: it grows to what arrives and what has piled up", wait,
			snapshot{due: true, live: 4, queued: 10, wait: 60 * ms, arrival: 50, service: 100 * ms}, Grow, 5, 5, LimitNone},
		{"wait: at most to four times its size", wait,
			snapshot{due: true, live: 4, queued: 1000, wait: time.Second, arrival: 50, service: 100 * ms}, Grow, 12, 12, LimitNone},
		{"wait: no further than the gate has room", wait,
			snapshot{due: true, live: 4, queued: 1000, wait: time.Second, arrival: 50, service: 100 * ms,
				gate: load{gated: true, slots: 2}, gateUse: 0.8}, Grow, 1, 1, LimitNone},
		{"wait: the maximum stops it", wait,
			snapshot{due: true, live: 15, retiring: 1, queued: 9, wait: time.Second}, Grow, 1, 0, LimitMaximum},
		{"wait: it grows again at once", wait,
			snapshot{due: true, live: 4, queued: 9, wait: time.Second, grew: ago(50 * ms)}, Grow, 1, 1, LimitNone},
		{"wait: it does not grow right after it shrank", wait,
			snapshot{due: true, live: 4, queued: 9, wait: 200 * ms, shrank: ago(time.Second)}, Grow, 1, 0, LimitCooldown},
		{"wait: unless jobs wait far too long", wait,
			snapshot{due: true, live: 4, queued: 9, wait: 201 * ms, shrank: ago(time.Second)}, Grow, 1, 1, LimitNone},
		{"wait: a while after it shrank it grows", wait,
			snapshot{due: true, live: 4, queued: 9, wait: time.Second, shrank: ago(2 * time.Second)}, Grow, 1, 1, LimitNone},
		{"wait: it lets all that is spare go", wait, snapshot{due: true, live: 16, needed: 5}, Shrink, 10, 10, LimitNone},
		{"wait: the last spare one, too", wait, snapshot{due: true, live: 3, needed: 0.1}, Shrink, 1, 1, LimitNone},
		{"wait: not below the floor", wait, snapshot{due: true, live: 2, working: 0}, Hold, 0, 0, LimitNone},
		{"wait: it keeps some headroom", wait, snapshot{due: true, live: 6, needed: 4.5}, Hold, 0, 0, LimitNone},
		{"wait: those busy now count, however idle they were", wait, snapshot{due: true, live: 8, busy: 7, needed: 1}, Hold, 0, 0, LimitNone},
		{"wait: it does not shrink with jobs queued", wait, snapshot{due: true, live: 8, queued: 1, needed: 1}, Hold, 0, 0, LimitNone},
		{"wait: it does not shrink right after it grew", wait,
			snapshot{due: true, live: 8, needed: 1, grew: ago(1999 * ms)}, Shrink, 6, 0, LimitCooldown},
		{"wait: shrinking takes its time between steps", wait,
			snapshot{due: true, live: 8, needed: 1, shrank: ago(time.Second)}, Shrink, 6, 0, LimitCooldown},
		{"wait: it does not shrink while it shuts down", wait,
			snapshot{due: true, live: 8, draining: true}, Hold, 0, 0, LimitNone},

		{"length: at the threshold it holds", length, snapshot{due: true, live: 3, queued: 4}, Hold, 0, 0, LimitNone},
		{"length: above it grows by one", length, snapshot{due: true, live: 3, queued: 500}, Grow, 1, 1, LimitNone},
		{"length: below the other it shrinks by one", length, snapshot{due: true, live: 9, queued: 0}, Shrink, 1, 1, LimitNone},
		{"length: any action cools it down", length,
			snapshot{due: true, live: 3, queued: 500, grew: ago(29 * time.Second)}, Grow, 1, 0, LimitCooldown},
		{"length: after it, it goes on", length,
			snapshot{due: true, live: 3, queued: 500, grew: ago(30 * time.Second)}, Grow, 1, 1, LimitNone},
		{"length: at the floor it does not shrink", length, snapshot{due: true, live: 2, queued: 0}, Hold, 0, 0, LimitNone},

		{"backlog: it grows when what is queued takes too long", backlog,
			snapshot{due: true, live: 2, backlog: 4, service: 50 * ms, arrival: 60}, Grow, 2, 2, LimitNone},
		{"backlog: a short one is left alone", backlog,
			snapshot{due: true, live: 2, busy: 2, backlog: 1, service: 50 * ms, arrival: 10}, Hold, 0, 0, LimitNone},
		{"backlog: before any job has ended, the oldest tells", backlog,
			snapshot{due: true, live: 2, busy: 2, backlog: 3, queued: 3, oldest: time.Second}, Grow, 1, 1, LimitNone},
		{"backlog: it shrinks to the load offered", backlog,
			snapshot{due: true, live: 10, service: 50 * ms, arrival: 60}, Shrink, 6, 6, LimitNone},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := decide(noon, c.policy, c.s)
			if d.Action != c.action || d.Wanted != c.wanted || d.Changed != c.changed || d.Limit != c.limit {
				t.Errorf("%s %d of %d, limit %q (%s; %s); want %s %d of %d, limit %q",
					d.Action, d.Changed, d.Wanted, d.Limit, d.Reason, d.Stopped, c.action, c.changed, c.wanted, c.limit)
			}
			if (d.Action != Hold) != (d.Reason != "") || (d.Limit != LimitNone) != (d.Stopped != "") {
				t.Errorf("reasons are missing or too many: %+v", d)
			}
		})
	}
}

func TestFullness(t *testing.T) {
	cases := []struct {
		name  string
		gate  load
		use   float64
		limit Limit
	}{
		{"no gate is never full", load{}, 1, LimitNone},
		{"slots to spare are not", load{gated: true, slots: 4, running: 4, waiting: 1}, 0.9, LimitNone},
		{"slots used all the time are", load{gated: true, slots: 4, running: 4}, 0.99, LimitCPU},
		{"as many waiting as there are slots are", load{gated: true, slots: 4, running: 4, waiting: 4}, 0.8, LimitCPU},
		{"a crowd that has only just come is not", load{gated: true, slots: 4, running: 4, waiting: 4}, 0.1, LimitNone},
		{"memory that keeps a job from a free slot is", load{gated: true, slots: 4, running: 1, waiting: 1, starved: 1}, 0.2, LimitMemory},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if limit, why := fullness(c.gate, c.use); limit != c.limit || (why == "") != (limit == LimitNone) {
				t.Errorf("got %q (%s), want %q", limit, why, c.limit)
			}
		})
	}
}

func TestARefusalNamesWhatTheMachineTakesAway(t *testing.T) {
	m := hostMeter{shares: HostCPU{Quota: 1.5}}
	m.update(hostTicks{steal: 50, all: 1000, throttled: 30, periods: 100})
	text := m.excuse()
	if !strings.Contains(text, "steals 5.0 %") || !strings.Contains(text, "quota of 1.5 ran out in 30 %") {
		t.Errorf("it says %q", text)
	}
	m.update(hostTicks{steal: 50, all: 2000, throttled: 30, periods: 200})
	if m.excuse() != "" {
		t.Errorf("with nothing taken it says %q", m.excuse())
	}
	m.update(hostTicks{}) // counters that cannot be read, or were reset
	if m.shares.Steal != 0 || m.shares.Throttled != 0 {
		t.Errorf("counters that go back give %+v", m.shares)
	}
}

func TestRecordsKeepTheLatestAndCountEqualOnes(t *testing.T) {
	var r records
	for i := range 300 {
		d := Decision{At: noon.Add(time.Duration(i) * time.Second), Action: Grow, Wanted: 1, kind: reasonSignal}
		d.Changed = i % 2
		r.add(d)
		r.add(d)
		r.add(Decision{At: d.At}) // nothing wanted: not worth telling
	}
	list := r.list()
	if len(list) != keptDecisions {
		t.Fatalf("%d are kept", len(list))
	}
	for i, d := range list {
		if i > 0 && d.At.Before(list[i-1].At) {
			t.Fatal("they are out of order")
		}
		if want := 2 - d.Changed; d.Times != want {
			t.Fatalf("one that came to %d tells it happened %d times", d.Changed, d.Times)
		}
	}
	if last := list[len(list)-1].At; !last.Equal(noon.Add(299 * time.Second)) {
		t.Errorf("the latest is of %s", last)
	}
}

func TestACrashLoopPausesAtMostASecond(t *testing.T) {
	var c crashes
	now := int64(time.Hour)
	for i := range 50 {
		c.crashed(now, now-1, 0)
		pause := time.Duration(c.until - now)
		switch {
		case i < crashesAllowed && pause > 0:
			t.Fatalf("the exit number %d is paused after already", i+1)
		case i >= crashesAllowed && (pause <= 0 || pause > time.Second):
			t.Fatalf("after %d exits in a row the pause is %s", i+1, pause)
		}
		now = max(now, c.until)
	}
	before := c.until
	c.crashed(now, now-int64(time.Hour), 0)
	c.crashed(now, now-1, 17)
	if c.until != before {
		t.Error("workers that lived, or worked, are taken for a loop")
	}
	c.crashed(now+int64(time.Minute), now+int64(time.Minute)-1, 0)
	if c.until != before {
		t.Error("a crash a minute later is still paused after")
	}
}

func TestTheHighestOfAWhileIsForgottenAfterIt(t *testing.T) {
	h := highest{part: 100}
	h.add(7, 1000)
	for now := int64(1050); now <= 1500; now += 50 {
		if h.add(1, now); h.value() != 7 {
			t.Fatalf("after %d it is %g", now-1000, h.value())
		}
	}
	h.add(2, 1600)
	if h.value() != 2 {
		t.Errorf("after the whole while it is %g", h.value())
	}
	h.add(3, 1_000_000)
	if h.value() != 3 {
		t.Errorf("long after that it is %g", h.value())
	}
}

func TestTheStandingWaitIsTheWorstClassesLeast(t *testing.T) {
	q := newQueue[int](2, int64(time.Hour))
	push := func(class int, at int64) {
		e := &entry[int]{}
		e.class, e.arrived = class, at
		q.push(e)
	}
	push(0, 0)
	push(0, 5)
	push(1, 1)
	q.take(10)
	q.take(11)
	// Class 0 waited 10 and 6; class 1 was not served, and its oldest is 11 old.
	if got := q.standing(12); got != 11 {
		t.Errorf("it is %d, want 11", got)
	}
	q.take(13)
	if got := q.standing(14); got != 12 {
		t.Errorf("it is %d, want 12", got)
	}
	if got := q.standing(15); got != 0 {
		t.Errorf("of an empty queue it is %d", got)
	}
}
