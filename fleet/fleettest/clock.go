package fleettest

import (
	"sync"
	"time"
)

// Clock stands still until somebody moves it.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock begins at a time.
func NewClock(at time.Time) *Clock { return &Clock{now: at.UTC()} }

// Now reads it.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves it forward.
func (c *Clock) Advance(d time.Duration) { c.Set(c.Now().Add(d)) }

// Set moves it to a time; it never goes back.
func (c *Clock) Set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.After(c.now) {
		c.now = at.UTC()
	}
}
