package notify

import "time"

// WithPause shortens the waits between tries, for tests of their number.
func (a *Alerts) WithPause(d time.Duration) *Alerts {
	a.pause = d
	return a
}
