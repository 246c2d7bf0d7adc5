package transform

import (
	"sync"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// line keeps account of who waits and who works, and decides who may join. It
// does not give turns: the pools and their gate do.
//
// How long a newcomer would wait is estimated from the cost of what is ahead
// and from how fast such costs have been worked off lately. For a while the
// line may get as long as patience allows, because a page full of pictures
// comes at once and is over soon. Once it has stood for longer than that
// explains, only short waits are accepted: then clients that are let in are
// served well, and the rest learn at once when to come back.
type line struct {
	jobs, places int // at work at once; at work and in line together
	patience     patience

	mu      sync.Mutex
	lanes   [lanes]laneCount
	working int
	since   time.Time // when somebody last began to wait behind nobody
	moved   time.Time // when work last began or ended
	done    uint64
	refused uint64
	shed    uint64  // of those refused, how many had waited
	speed   float64 // wall time of work over its estimated cost
}

// patience is how long a wait may be.
type patience struct {
	burst  time.Duration // while a line is young
	strict time.Duration // once it has stood
	after  time.Duration // for so long
}

// laneCount is one lane's part of the line.
type laneCount struct {
	waiting int
	cost    time.Duration // estimated, of those waiting
	holds   time.Duration // estimated, of those working
	average time.Duration // of those that came lately
	near    int           // on their way into the line: their source is being read
	stood   time.Time     // since when the wait has been above strict; zero when it is not
}

func newLine(jobs, queue int, p patience) *line {
	return &line{jobs: jobs, places: jobs + queue, patience: p, speed: 1}
}

// enter takes a place for work of that cost, which began and ended, or left,
// give back.
func (l *line) enter(in lane, cost time.Duration, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if waiting := l.waiting(); waiting+l.working >= l.places {
		l.refused++
		return media.Errorf(media.CodeOverloaded, "The server is busy: %d requests wait already.", waiting)
	}
	if err := l.accept(in, now); err != nil {
		return err
	}
	if l.waiting() == 0 {
		l.since = now
	}
	c := &l.lanes[in]
	c.waiting++
	c.cost += cost
	// Over about sixteen requests: what comes next is like what came last.
	c.average += (cost - c.average) / 16
	l.note(now)
	return nil
}

// approach reserves a place in the estimate for a request whose source is
// about to be read, or refuses it before that costs anything. The function it
// gives takes the reservation back.
func (l *line) approach(in lane, reserve bool, now time.Time) (arrive func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.accept(in, now); err != nil {
		return nil, err
	}
	if !reserve {
		return func() {}, nil
	}
	l.lanes[in].near++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lanes[in].near--
		// It may have been the last to come, and then nothing else would ever
		// see that the line has moved on.
		l.relax(in)
	}), nil
}

// accept refuses when the wait would be too long. The caller holds mu.
func (l *line) accept(in lane, now time.Time) error {
	wait, limit := l.expected(in), l.limit(in, now)
	if wait <= limit {
		return nil
	}
	l.refused++
	return media.Errorf(media.CodeOverloaded, "The server is busy: the wait would be about %s; at present %s is the limit.",
		wait.Round(10*time.Millisecond), limit)
}

// expected is how long a newcomer to a lane would wait. The caller holds mu.
func (l *line) expected(in lane) time.Duration {
	c := l.lanes[in]
	if l.waiting()+c.near+l.working < l.jobs {
		return 0
	}
	other := l.lanes[quick+slow-in]
	portion := 1.0
	if other.waiting > 0 {
		portion = in.portion()
	}
	// Those at work are half done, on average.
	own := float64(c.cost + time.Duration(c.near)*c.average)
	together := (own/portion + float64(c.holds+other.holds)/2) / float64(l.jobs)
	// However long the other lane's work takes, the gate leaves a slot to this.
	alone := own + float64(c.holds)/2
	return time.Duration(l.speed * min(together, alone))
}

// limit is how long a wait may be at present. The caller holds mu.
func (l *line) limit(in lane, now time.Time) time.Duration {
	if at := l.lanes[in].stood; !at.IsZero() && now.Sub(at) >= l.patience.after {
		return min(l.patience.strict, l.patience.burst)
	}
	return l.patience.burst
}

// note follows whether a lane stands. It is thought to have moved on only when
// its wait is far below what is accepted, for a line that is held at the limit
// is just below it all the time. The caller holds mu.
func (l *line) note(now time.Time) {
	for in := range lanes {
		if c := &l.lanes[in]; c.stood.IsZero() && l.expected(in) > l.patience.strict {
			c.stood = now
		}
		l.relax(in)
	}
}

// relax is the part of note that needs no clock. The caller holds mu.
func (l *line) relax(in lane) {
	if l.expected(in) <= l.patience.strict/4 {
		l.lanes[in].stood = time.Time{}
	}
}

// overdue tells whether work that has waited so long should not begin any
// more: its client may have left by the time it is done, and those behind it
// would wait for nothing.
func (l *line) overdue(in lane, waited time.Duration, now time.Time) (limit time.Duration, late bool) {
	if in == background {
		return 0, false // nobody has left, and there is no line to stand in
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	limit = l.limit(in, now)
	// Estimates are no promises: a little more than the limit is let pass.
	if limit == 0 || waited <= limit+limit/4 {
		return limit, false
	}
	return limit, true
}

// grow adds to the cost of work that waits: another size has joined it.
func (l *line) grow(in lane, cost time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lanes[in].cost += cost
}

// left is for those that got no turn. Only some were refused: what was too
// large, or came too late, never had a place in line.
func (l *line) left(in lane, cost time.Duration, refused bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lanes[in].waiting--
	l.lanes[in].cost -= cost
	if refused {
		l.refused++
		l.shed++
	}
	l.note(now)
}

func (l *line) began(in lane, cost time.Duration, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.lanes[in]
	c.waiting--
	c.cost -= cost
	c.holds += cost
	l.working++
	l.moved = now
	l.note(now)
}

func (l *line) ended(in lane, cost time.Duration, now time.Time, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lanes[in].holds -= cost
	l.working--
	l.done++
	l.moved = now
	if cost > 0 {
		// Over about sixteen jobs, and never so far that one odd picture
		// closes or opens the door.
		ratio := min(max(float64(took)/float64(cost), 1.0/16), 16)
		l.speed += (ratio - l.speed) / 16
	}
	l.note(now)
}

func (l *line) waiting() int { return l.lanes[quick].waiting + l.lanes[slow].waiting }

// lineStats is one consistent look at the line.
type lineStats struct {
	waiting, working    int
	refused, shed, done uint64
	since, moved        time.Time // since is of use while somebody waits
	speed               float64
	expected            [lanes]time.Duration
	stood               [lanes]time.Time
}

func (l *line) stats() lineStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := lineStats{
		waiting: l.waiting(), working: l.working, refused: l.refused, shed: l.shed, done: l.done,
		since: l.since, moved: l.moved, speed: l.speed,
	}
	for in := range lanes {
		s.expected[in], s.stood[in] = l.expected(in), l.lanes[in].stood
	}
	return s
}

// drain estimates how long the present line takes to empty: what a refused
// client should wait.
func (l *line) drain() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.expected(quick), l.expected(slow))
}
