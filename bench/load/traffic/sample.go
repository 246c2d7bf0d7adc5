package traffic

import (
	"net/http"
	"time"
)

// Sample is one request and what came of it. Times count from the start of
// the load.
type Sample struct {
	Start time.Duration // when it was meant to begin
	First time.Duration // from Start to the first byte of the body
	Took  time.Duration // from Start to the last byte
	// Status is 0 when the connection failed or the body broke off.
	Status int
	Bytes  int64
	// Retry is the Retry-After of the answer in seconds, -1 without one.
	Retry int
	// Eased tells that the answer says it was made with less effort.
	Eased bool
}

// OK tells whether it brought what was asked for.
func (s Sample) OK() bool { return s.Status == http.StatusOK }

// Refused tells whether the server deliberately turned it away for a while.
func (s Sample) Refused() bool { return s.Status == http.StatusServiceUnavailable }

// end is when its last byte came.
func (s Sample) end() time.Duration { return s.Start + s.Took }

// Window is the part of a load that counts: what comes before lets the
// server warm up, or notice that it is overloaded.
type Window struct{ Warm, Length time.Duration }

// has tells whether a moment lies in it.
func (w Window) has(at time.Duration) bool { return at >= w.Warm && at < w.Warm+w.Length }

// whole is how long requests are made.
func (w Window) whole() time.Duration { return w.Warm + w.Length }
