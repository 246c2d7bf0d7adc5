package elastic

import (
	"fmt"
	"math"
	"time"
)

// policy is the part of the configuration that decisions follow.
type policy struct {
	signal   Signal
	min, max int
	up, down int           // thresholds of QueueLength
	target   time.Duration // wait, of the others
	cooldown time.Duration
}

// snapshot is the pool at one moment.
type snapshot struct {
	due      bool // a check interval is over, so the signal counts
	draining bool // shutting down with jobs still queued
	backoff  bool // workers exit at once; the next may start later
	lost     int  // workers that ended unasked and were not replaced yet

	live, retiring int
	busy, queued   int
	wait           time.Duration // standing wait over the last interval
	oldest         time.Duration // wait of the oldest queued job

	arrival float64       // jobs a second, smoothed
	service time.Duration // a job, smoothed; 0: none has ended yet
	backlog float64       // queued jobs, smoothed
	working float64       // workers in a job, smoothed
	needed  float64       // the highest of that for a while

	gate    load
	gateUse float64 // share of the gate's slots used over the last interval

	grew, shrank time.Time // last action for the signal's sake
}

// drainWithin is how soon a backlog should be gone once the pool has grown.
const drainWithin = 250 * time.Millisecond

// headroom is the spare capacity a shrinking pool keeps: a fifth above need,
// so that it neither shrinks below what it will want in a moment nor queues
// all the time.
const headroom = 1.2

// urgent is how many times its target the wait must be before the pool grows
// although it has shrunk a moment ago. Without it a burst at that moment waits
// for the whole cooldown: with KeepIdle at 3 s, the third load of
// TestTheDefaultSignalIsTheBest had a p99 of 1.4 s instead of 0.3 s. A worker
// too many costs nothing like it.
const urgent = 4

// fullGate is the use from which a gate counts as full: what is left to gain
// is less than anybody can measure.
const fullGate = 0.98

// busyGate is the same when as many jobs as it has slots wait for it already:
// by chance it was idle for a while, but another worker would not change that.
const busyGate = 0.8

// decide looks at a snapshot and says what should change, and why. Promises
// come first (the floor, the place of a lost worker, the ceiling), then the
// signal, and last what limits it. The gate is asked by the caller, if at all.
func decide(now time.Time, pol policy, s snapshot) Decision {
	d := Decision{
		At: now, Live: s.live, Retiring: s.retiring, Busy: s.busy, Queued: s.queued,
		Wait: max(s.wait, 0),
	}
	switch {
	case s.live < pol.min && pol.min-s.live >= s.lost:
		d.want(Grow, pol.min-s.live, reasonFloor, "%d of at least %d workers live", s.live, pol.min)
	case s.lost > 0 && s.live < pol.max:
		d.want(Grow, s.lost, reasonReplace, "%d workers ended unasked", s.lost)
	case s.live > pol.max:
		d.want(Shrink, s.live-pol.max, reasonCeiling, "%d workers live, %d allowed", s.live, pol.max)
	case !s.due:
	case pol.signal == QueueLength:
		byLength(&d, pol, s)
	case pol.signal == SmoothedBacklog:
		byBacklog(&d, pol, s)
	default:
		byWait(&d, pol, s)
	}
	if d.Action == Shrink && s.draining {
		return Decision{At: now}
	}
	limit(&d, now, pol, s)
	return d
}

// want sets what is wanted; limits come later.
func (d *Decision) want(a Action, workers int, kind reason, format string, args ...any) {
	d.Action, d.Wanted, d.Changed, d.kind = a, workers, workers, kind
	d.Reason = fmt.Sprintf(format, args...)
}

// stop lowers what comes of it.
func (d *Decision) stop(changed int, l Limit, format string, args ...any) {
	d.Changed, d.Limit = changed, l
	d.Stopped = fmt.Sprintf(format, args...)
}

// byLength is one step at a time between two thresholds.
func byLength(d *Decision, pol policy, s snapshot) {
	switch {
	case s.queued > pol.up:
		d.want(Grow, 1, reasonSignal, "%d jobs queued, more than %d", s.queued, pol.up)
	case s.queued < pol.down && s.live > pol.min:
		d.want(Shrink, 1, reasonSignal, "%d jobs queued, fewer than %d", s.queued, pol.down)
	}
}

// byWait grows when there is a standing queue and shrinks after idleness.
func byWait(d *Decision, pol policy, s snapshot) {
	if s.wait > pol.target {
		d.want(Grow, growth(s, float64(s.queued)), reasonSignal,
			"jobs waited at least %s, longer than %s", s.wait.Round(time.Millisecond), pol.target)
		return
	}
	byIdleness(d, pol, s, 0)
}

// byBacklog compares what comes in, and what has piled up, with capacity.
func byBacklog(d *Decision, pol policy, s snapshot) {
	expected := time.Duration(s.backlog * float64(s.service) / math.Max(float64(s.live), 1))
	if s.service == 0 && s.backlog >= 1 {
		expected = s.oldest // nothing has ended yet, so all that is known is this
	}
	if expected > pol.target {
		d.want(Grow, growth(s, s.backlog), reasonSignal,
			"%.1f jobs queued at %s each, %s for %d workers, longer than %s", s.backlog,
			s.service.Round(time.Millisecond), expected.Round(time.Millisecond), s.live, pol.target)
		return
	}
	byIdleness(d, pol, s, s.arrival*s.service.Seconds())
}

// growth is how many workers more would carry the offered load and work off
// the backlog soon: at least one, at most three times as many as there are (a
// first estimate is seldom right), and no more than the gate has room for.
func growth(s snapshot, backlog float64) int {
	step := 1
	if s.service > 0 {
		need := s.arrival*s.service.Seconds() + backlog*float64(s.service)/float64(drainWithin)
		step = int(math.Min(math.Ceil(need), 1e6)) - s.live
	}
	if s.gate.gated && s.gateUse > 0 {
		step = min(step, int(math.Ceil(float64(s.live)/s.gateUse))-s.live)
	}
	return max(1, min(step, 3*s.live))
}

// byIdleness lets go of what has been spare for a while.
func byIdleness(d *Decision, pol policy, s snapshot, offered float64) {
	need := max(offered, s.needed, float64(s.busy))
	spare := s.live - max(pol.min, int(math.Ceil(need*headroom)))
	if spare <= 0 || s.queued > 0 {
		return
	}
	d.want(Shrink, spare, reasonSignal, "%.1f of %d workers were busy at most", need, s.live)
}

// limit applies what holds whatever the signal.
func limit(d *Decision, now time.Time, pol policy, s snapshot) {
	switch d.Action {
	case Hold:
		return
	case Grow:
		if s.backoff {
			d.stop(0, LimitBackoff, "workers exit as soon as they start")
			return
		}
		if room := max(0, pol.max-s.live-s.retiring); d.Changed > room {
			d.stop(room, LimitMaximum, "%d of %d workers exist, %d of them retiring", s.live+s.retiring, pol.max, s.retiring)
		}
	case Shrink:
		if spare := max(0, s.live-pol.min); d.Changed > spare {
			d.stop(spare, LimitMinimum, "%d of at least %d workers live", s.live, pol.min)
		}
	}
	if d.Forced() || d.Changed == 0 {
		return
	}
	if d.Action == Grow && pol.signal != QueueLength && s.wait > urgent*pol.target {
		return
	}
	if left := pol.cooling(d.Action, s).Add(pol.cooldown).Sub(now); left > 0 {
		d.stop(0, LimitCooldown, "%s of the cooldown left", left.Round(time.Millisecond))
	}
}

// cooling is the action that the cooldown counts from. Growing again need not
// wait: jobs do. Everything does after an action the other way.
func (pol policy) cooling(a Action, s snapshot) time.Time {
	if a == Grow && pol.signal != QueueLength {
		return s.shrank
	}
	if s.grew.After(s.shrank) {
		return s.grew
	}
	return s.shrank
}

// fullness says whether the gate is the bottleneck, so that another worker
// would only wait with the others: its slots were all in use, or as many jobs
// as it has slots wait already, or memory keeps jobs from a free slot.
func fullness(l load, use float64) (Limit, string) {
	switch {
	case !l.gated:
		return LimitNone, ""
	case l.starved > 0:
		return LimitMemory, fmt.Sprintf("%d of %d bytes held, %d jobs wait for memory", l.held, l.memory, l.starved)
	case use >= fullGate, use >= busyGate && l.waiting >= l.slots:
		return LimitCPU, fmt.Sprintf("%d of %d CPU slots used (%.0f %%), %d jobs wait for one", l.running, l.slots, 100*use, l.waiting)
	}
	return LimitNone, ""
}
