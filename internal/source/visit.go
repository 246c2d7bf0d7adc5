package source

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// visit is a place at an origin, from the request to the end of the body. One
// goroutine has it at a time.
type visit struct {
	origins *origins
	origin  *origin
	pass    pass
	begun   time.Time
	over    bool
}

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
}

// end gives the place back. Only the first end counts.
func (v *visit) end(result verdict) {
	if v == nil || v.over {
		return
	}
	v.over = true
	o, at := v.origins, v.origin
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	if result.kind == verdictBad {
		at.failures++
	}
	if o.breaking && at.breaker.learn(v.pass, now, result) {
		o.disperse(at)
	}
	o.free(at, now.Sub(v.begun))
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
