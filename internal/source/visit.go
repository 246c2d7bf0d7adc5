package source

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// visit is a place at an origin, from the request to the end of the body. One
// goroutine has it at a time, but for parked, which origins.mu guards.
type visit struct {
	origins *origins
	origin  *origin
	pass    pass
	begun   time.Time
	over    bool
	parking *time.Timer // runs until somebody reads
	parked  bool
}

// parkAfter is how long a body may keep a place without being read.
const parkAfter = 100 * time.Millisecond

// What became of a visit. The zero verdict says nothing of the origin.
type (
	verdict struct {
		kind verdictKind
		// retryAfter is the origin's own word on when to come back.
		retryAfter time.Duration
	}
	verdictKind int
)

const (
	verdictNone verdictKind = iota
	verdictGood
	verdictBad
	verdictLeaveAlone
)

// visit waits for a place at the origin called name.
func (o *origins) visit(ctx context.Context, name string) (*visit, error) {
	v, w, err := o.enter(name)
	if w == nil {
		return v, err
	}
	return o.await(ctx, w)
}

func (o *origins) await(ctx context.Context, w *waiter) (*visit, error) {
	select {
	case <-w.ready:
		return w.visit, w.fault
	case <-ctx.Done():
		o.giveUp(w)
		return nil, context.Cause(ctx)
	}
}

// answered is for headers that promise the original.
func (v *visit) answered() {
	v.origins.mu.Lock()
	defer v.origins.mu.Unlock()
	v.origin.breaker.answered(v.pass)
	v.parking = time.AfterFunc(parkAfter, v.park)
}

// park takes the place from a body that nobody reads. Whoever has it waits for
// something else, which may well be another original: of this origin, so that
// many of them would wait for each other, or of a slow one, which would take
// this one's places that way.
func (v *visit) park() {
	o, at := v.origins, v.origin
	o.mu.Lock()
	defer o.mu.Unlock()
	if v.over || v.parked || v.parking == nil {
		return
	}
	v.parked = true
	at.parked++
	o.free(at)
}

// read is called before the body is read for the first time. A parked visit
// waits to get its place back, before all who have none yet.
func (v *visit) read(ctx context.Context) error {
	o, at := v.origins, v.origin
	o.mu.Lock()
	v.parking.Stop()
	v.parking = nil
	if !v.parked {
		o.mu.Unlock()
		return nil
	}
	w := &waiter{origin: at, pass: v.pass, ready: make(chan struct{}), visit: v, returning: true}
	ahead := slices.IndexFunc(at.line, func(other *waiter) bool { return !other.returning })
	if ahead < 0 {
		ahead = len(at.line)
	}
	o.lineUp(w, ahead)
	o.fill()
	o.mu.Unlock()
	_, err := o.await(ctx, w)
	return err
}

// retake gives a parked visit its place back.
func (o *origins) retake(v *visit) {
	v.parked = false
	v.origin.parked--
	v.origin.taken++
	o.taken++
}

// end gives the place back. Only the first end counts.
func (v *visit) end(result verdict) {
	if v == nil {
		return
	}
	o, at := v.origins, v.origin
	o.mu.Lock()
	defer o.mu.Unlock()
	if v.over {
		return
	}
	v.over = true
	if v.parking != nil {
		v.parking.Stop()
	}
	now := o.now()
	if result.kind == verdictBad {
		at.failures++
	}
	if o.breaking && at.breaker.learn(v.pass, now, result) {
		o.disperse(at)
	}
	if v.parked {
		at.parked--
		o.rest(at)
		return
	}
	at.stayed(now.Sub(v.begun))
	o.free(at)
}

// learn tells whether the breaker opened.
func (b *breaker) learn(p pass, now time.Time, result verdict) bool {
	switch result.kind {
	case verdictGood:
		b.success(p, now)
	case verdictBad:
		return b.failure(p, now, result.retryAfter)
	case verdictLeaveAlone:
		return b.leaveAlone(p, now, result.retryAfter)
	default:
		b.abandon(p)
	}
	return false
}

// judge finds what a fault says about the origin. That our own side gave up
// says nothing; a clear answer, even a refusal, is a good one.
func judge(err error) verdict {
	var fault *media.Error
	if err == nil || !errors.As(err, &fault) {
		return verdict{kind: verdictGood}
	}
	var status statusError
	isStatus := errors.As(fault.Cause, &status)
	switch {
	case isStatus && status == http.StatusTooManyRequests && fault.RetryAfter > 0:
		return verdict{verdictLeaveAlone, fault.RetryAfter}
	case isStatus && status < http.StatusInternalServerError:
		return verdict{kind: verdictGood}
	case Unavailable(fault):
		return verdict{verdictBad, fault.RetryAfter}
	case errors.Is(fault.Cause, ErrPrivate):
		return verdict{}
	}
	return verdict{kind: verdictGood}
}

// hostOf is a name of an origin as messages have it.
func hostOf(name string) string {
	_, host, _ := strings.Cut(name, "://")
	return host
}

func wholeSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
