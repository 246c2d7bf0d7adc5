package source

import (
	"cmp"
	"container/list"
	"slices"
	"sync"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// rememberedOrigins bounds how many hosts are known of which nothing is
// fetched right now.
const rememberedOrigins = 1024

// waitersPerPlace is how many may stand in line for each place.
const waitersPerPlace = 4

// origins knows every origin that is asked: whether it works, how many ask it
// and who waits to. One slow origin fills its own places and its own line,
// and no others.
type origins struct {
	each, all int  // places of one origin, and of all together
	breaking  bool // whether breakers are heeded
	now       func() time.Time

	mu      sync.Mutex // guards what follows, and what each origin holds
	known   map[string]*origin
	idle    list.List // of *origin without visits, the longest idle first
	lined   []*origin // those with a line
	taken   int
	waiting int
}

// origin is one scheme, host and port, or one bucket.
type origin struct {
	name     string
	breaker  breaker
	taken    int
	parked   int       // visits without a place, see visit.park
	line     []*waiter // those who return to a place, then first come, first served
	failures int64
	stay     time.Duration // smoothed time that a place is taken
	idle     *list.Element // nil when not idle
}

// waiter stands in a line. Its visit or fault is set before ready is closed.
type waiter struct {
	origin    *origin
	pass      pass
	ready     chan struct{}
	visit     *visit
	fault     error
	returning bool // visit is there from the beginning and lost its place
}

// OriginStats is what is known of one origin.
type OriginStats struct {
	// Host is a scheme with a host, and a port unless it is the scheme's
	// own, or s3:// with a bucket.
	Host string
	// InFlight counts the places that are taken, Waiting who stands in line,
	// and Unread the bodies that lost their place as nobody began to read.
	InFlight, Waiting, Unread int
	// Failures counts what was fetched in vain, for as long as the origin
	// is remembered.
	Failures int64
	// Open tells that the breaker is open: the origin is not asked before
	// Until, and after it by a single probe.
	Open  bool
	Until time.Time
}

func newOrigins(cfg Config) *origins {
	return &origins{
		// Two at least, so that a picture and its watermark can both be open.
		each: max(2, min(cfg.FetchesPerOrigin, cfg.Fetches/2)), all: cfg.Fetches,
		breaking: !cfg.NoBreaker, now: time.Now, known: map[string]*origin{},
	}
}

// stats lists the known origins by name.
func (o *origins) stats() []OriginStats {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]OriginStats, 0, len(o.known))
	for _, at := range o.known {
		list = append(list, OriginStats{
			Host: at.name, InFlight: at.taken, Waiting: len(at.line), Unread: at.parked, Failures: at.failures,
			Open: !at.breaker.until.IsZero(), Until: at.breaker.until,
		})
	}
	slices.SortFunc(list, func(a, b OriginStats) int { return cmp.Compare(a.Host, b.Host) })
	return list
}

// enter gives a visit, or a waiter for one, or the reason why not.
func (o *origins) enter(name string) (*visit, *waiter, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := o.origin(name)
	defer o.rest(at)
	p, err := o.ask(at)
	if err != nil {
		return nil, nil, err
	}
	if at.taken < o.each && o.taken < o.all {
		return o.take(at, p), nil, nil
	}
	if len(at.line) >= waitersPerPlace*o.each || o.waiting >= waitersPerPlace*o.all {
		at.breaker.abandon(p)
		return nil, nil, at.full(o.each)
	}
	w := &waiter{origin: at, pass: p, ready: make(chan struct{})}
	o.lineUp(w, len(at.line))
	return nil, w, nil
}

func (o *origins) lineUp(w *waiter, position int) {
	at := w.origin
	if len(at.line) == 0 {
		o.lined = append(o.lined, at)
	}
	at.line = slices.Insert(at.line, position, w)
	o.waiting++
}

// origin finds one, or begins to know it in the place of one long idle.
func (o *origins) origin(name string) *origin {
	at := o.known[name]
	if at == nil {
		if oldest := o.idle.Front(); oldest != nil && o.idle.Len() >= rememberedOrigins {
			delete(o.known, o.idle.Remove(oldest).(*origin).name)
		}
		at = &origin{name: name}
		o.known[name] = at
	}
	if at.idle != nil {
		o.idle.Remove(at.idle)
		at.idle = nil
	}
	return at
}

// rest marks an origin that nobody visits as the last to be forgotten.
func (o *origins) rest(at *origin) {
	if at.idle == nil && at.taken == 0 && at.parked == 0 && len(at.line) == 0 {
		at.idle = o.idle.PushBack(at)
	}
}

func (o *origins) ask(at *origin) (pass, error) {
	if !o.breaking {
		return pass{}, nil
	}
	p, wait := at.breaker.ask(o.now())
	if wait > 0 {
		return pass{}, at.closed(wait)
	}
	return p, nil
}

func (o *origins) take(at *origin, p pass) *visit {
	at.taken++
	o.taken++
	return &visit{origins: o, origin: at, pass: p, begun: o.now()}
}

// free gives a place back and fills it again.
func (o *origins) free(at *origin) {
	at.taken--
	o.taken--
	o.fill()
	o.rest(at)
}

// stayed takes down how long a visit took.
func (at *origin) stayed(d time.Duration) {
	if at.stay == 0 {
		at.stay = d
	}
	at.stay += (d - at.stay) / 8
}

// fill lets waiters in while there is room. Among origins the one with the
// fewest visits is served, so that those of a slow one do not crowd out the
// others'.
func (o *origins) fill() {
	for o.taken < o.all {
		var next *origin
		for _, at := range o.lined {
			if at.taken < o.each && (next == nil || at.taken < next.taken) {
				next = at
			}
		}
		if next == nil {
			return
		}
		w := next.line[0]
		o.unline(w)
		if w.returning {
			o.retake(w.visit)
		} else {
			w.visit = o.take(next, w.pass)
		}
		close(w.ready)
	}
}

// unline takes a waiter out of its line, and is false when it stands in none
// any more.
func (o *origins) unline(w *waiter) bool {
	at := w.origin
	i := slices.Index(at.line, w)
	if i < 0 {
		return false
	}
	at.line = slices.Delete(at.line, i, i+1)
	o.waiting--
	if len(at.line) == 0 {
		o.lined = slices.DeleteFunc(o.lined, func(other *origin) bool { return other == at })
	}
	return true
}

// disperse sends everyone home who waits for an origin that will not be asked.
// Those who return have their answer already.
func (o *origins) disperse(at *origin) {
	for _, w := range slices.Clone(at.line) {
		if w.returning {
			continue
		}
		o.unline(w)
		w.fault = at.closed(at.breaker.until.Sub(o.now()))
		close(w.ready)
	}
}

// giveUp is for a waiter that waits no longer. A place that came just now goes
// to the next; the visit of one who returns ends with its body.
func (o *origins) giveUp(w *waiter) {
	o.mu.Lock()
	waited := o.unline(w)
	if waited && !w.returning {
		w.origin.breaker.abandon(w.pass)
		o.rest(w.origin)
	}
	o.mu.Unlock()
	if !waited && !w.returning {
		w.visit.end(verdict{})
	}
}

// closed words the refusal to ask an origin before wait is over.
func (at *origin) closed(wait time.Duration) error {
	err := media.Errorf(media.CodeSourceUnavailable,
		"The source host %s is not asked for the next %d s, because it failed repeatedly or wants to be left alone.", hostOf(at.name), wholeSeconds(wait))
	err.RetryAfter = wait
	return err
}

// full words the refusal to wait in a line that is too long already, with an
// estimate of how long it takes.
func (at *origin) full(places int) error {
	err := media.Errorf(media.CodeSourceUnavailable,
		"The source host %s is busy: %d requests to it are under way and %d wait.", hostOf(at.name), at.taken, len(at.line))
	wait := at.stay * time.Duration(len(at.line)+1) / time.Duration(places)
	err.RetryAfter = min(max(wait, time.Second), maxCoolOff)
	return err
}
