package h2

import (
	"errors"
	"fmt"
	"time"
)

// Config bounds what a client can be slow, large or many in. Zero fields mean
// the defaults.
type Config struct {
	// MaxConcurrentStreams is how many requests of a connection may be open (250).
	MaxConcurrentStreams uint32
	// MaxHeaderBytes bounds the decoded header list of a request, counted as
	// RFC 9113, 6.5.2 does (the http.Server's MaxHeaderBytes, or 64 KiB).
	MaxHeaderBytes int
	// MaxHeaderFields bounds the fields of a request, each cookie crumb counted (128).
	MaxHeaderFields int
	// ConnHeaderBytes bounds the header lists of all requests of a connection
	// whose handlers run, counted in the same way. A request beyond it is
	// refused, which its client may answer by asking again (4 MiB).
	ConnHeaderBytes int
	// MaxContinuations bounds the CONTINUATION frames of a header block (8).
	MaxContinuations int

	// StreamWindow and ConnWindow are how many bytes of bodies a client may
	// send ahead of the handlers that read them (256 KiB, 1 MiB).
	StreamWindow, ConnWindow int32

	// StreamBuffer is how far a handler may write ahead of its client
	// (64 KiB); ConnBuffer bounds the sum over a connection (2 MiB). Beyond
	// it each stream still has 4 KiB, so that none waits for another.
	StreamBuffer, ConnBuffer int

	// StallTimeout ends a stream that has bytes to send of which its client
	// takes none for so long, and a connection that takes nothing at all (30 s).
	StallTimeout time.Duration
	// MinSendRate is the least rate, in bytes a second, at which a client has to
	// take what waits for it: over a connection, and over the life of a stream,
	// where all open streams share it. A client may fall behind by StallTimeout
	// in all. Time for which a stream waits for others, and not for its client,
	// does not count (0: any rate).
	MinSendRate int64
	// MinBodyRate is how many bytes a second a request's body brings at
	// least, over its whole length, once BodyGrace has passed (0: any number).
	MinBodyRate int64
	// BodyGrace is for how long a body may be as slow as it likes (10 s).
	BodyGrace time.Duration
	// PingTimeout: a connection that has been silent for so long is asked
	// whether it is still there, and closed when it is not (0: never asked).
	PingTimeout time.Duration

	// IgnorePhases leaves marks of handlers aside: urgency and fairness only.
	IgnorePhases bool
	// Fair shares equally among the pictures of one phase, where the default
	// completes the shortest first.
	Fair bool
}

// setDefaults fills in what is zero.
func (c *Config) setDefaults() {
	fill(&c.MaxConcurrentStreams, 250)
	fill(&c.MaxHeaderBytes, 64<<10)
	fill(&c.MaxHeaderFields, 128)
	fill(&c.ConnHeaderBytes, max(4<<20, c.MaxHeaderBytes))
	fill(&c.MaxContinuations, 8)
	fill(&c.StreamWindow, 256<<10)
	fill(&c.ConnWindow, 1<<20)
	fill(&c.StreamBuffer, 64<<10)
	fill(&c.ConnBuffer, 2<<20)
	fill(&c.StallTimeout, 30*time.Second)
	fill(&c.BodyGrace, 10*time.Second)
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate names every field that is out of its range.
func (c *Config) Validate() error {
	var faults []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	check(c.MaxHeaderBytes >= 0, "MaxHeaderBytes: %d is negative", c.MaxHeaderBytes)
	check(c.MaxHeaderFields >= 0, "MaxHeaderFields: %d is negative", c.MaxHeaderFields)
	check(c.ConnHeaderBytes == 0 || c.ConnHeaderBytes >= c.MaxHeaderBytes, "ConnHeaderBytes: %d is less than MaxHeaderBytes, which is %d, so that some requests could never be served", c.ConnHeaderBytes, c.MaxHeaderBytes)
	check(c.MaxContinuations >= 0, "MaxContinuations: %d is negative", c.MaxContinuations)
	check(c.StreamWindow >= 0, "StreamWindow: %d is negative", c.StreamWindow)
	check(c.ConnWindow == 0 || c.ConnWindow >= 65535, "ConnWindow: %d is less than 65535, with which every connection begins", c.ConnWindow)
	check(c.StreamBuffer >= 0, "StreamBuffer: %d is negative", c.StreamBuffer)
	check(c.ConnBuffer >= 0, "ConnBuffer: %d is negative", c.ConnBuffer)
	check(c.StallTimeout >= 0, "StallTimeout: %v is negative", c.StallTimeout)
	check(c.MinSendRate >= 0, "MinSendRate: %d is negative", c.MinSendRate)
	check(c.MinBodyRate >= 0, "MinBodyRate: %d is negative", c.MinBodyRate)
	check(c.BodyGrace >= 0, "BodyGrace: %v is negative", c.BodyGrace)
	check(c.PingTimeout >= 0, "PingTimeout: %v is negative", c.PingTimeout)
	return errors.Join(faults...)
}
