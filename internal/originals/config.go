package originals

import (
	"errors"
	"fmt"
	"time"
)

// Config bounds a Store. A zero takes what stands in brackets.
type Config struct {
	// SourceBytes bounds one original (64 MiB).
	SourceBytes int64
	// Fetches is how many originals are on their way at once, those that wait
	// for their turn at their origin included (4096). It is a fuse: places and
	// lines by origin are the opener's.
	Fetches int
	// Memory bounds the bodies that are kept after use (none).
	Memory int64
	// Fresh is how long an original is used without a question when its
	// origin says nothing of it (0: each Open asks).
	Fresh time.Duration
	// WhileRevalidate is how long after that a stale original is used while
	// a question in the background is under way, where the origin says
	// nothing (0: not at all).
	WhileRevalidate time.Duration
	// IfError is how long after that a stale original is used when its
	// origin is unavailable, where the origin says nothing (0: not at all).
	IfError time.Duration
	// Kept is how many originals are remembered without their bytes (10000).
	Kept int
	// Scope stands for all that decides what a reference means and whether
	// it may be opened. What the disk has from another one is not used.
	Scope string
}

func (c Config) withDefaults() Config {
	if c.SourceBytes == 0 {
		c.SourceBytes = 64 << 20
	}
	if c.Fetches == 0 {
		c.Fetches = 4096
	}
	if c.Kept == 0 {
		c.Kept = 10000
	}
	return c
}

// longest bounds every time here, so that sums of them cannot overflow.
const longest = 365 * 24 * time.Hour

// Validate joins every fault, each naming its key and accepted range.
func (c Config) Validate() error {
	var errs []error
	number := func(key string, value, high int64) {
		if value < 0 || value > high {
			errs = append(errs, fmt.Errorf("%s: %d is not within 0 to %d", key, value, high))
		}
	}
	span := func(key string, value time.Duration) {
		if value < 0 || value > longest {
			errs = append(errs, fmt.Errorf("%s: %s is not within 0s to %s", key, value, longest))
		}
	}
	number("max-source-bytes", c.SourceBytes, 1<<40)
	number("source-fetches", int64(c.Fetches), 1<<20)
	number("source-cache-memory", c.Memory, 1<<46)
	number("source metas kept", int64(c.Kept), 1<<24)
	span("source-fresh", c.Fresh)
	span("stale-while-revalidate", c.WhileRevalidate)
	span("stale-if-error", c.IfError)
	return errors.Join(errs...)
}
