package fleet

import "time"

// Midnight is when the day of a time began in a zone. Where clocks are put
// forward at midnight, it is the first moment after; where they are put back over
// it, the first of the two.
func Midnight(at time.Time, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	// time.Date may answer a time of the day before where there is no midnight.
	for at = at.In(zone); ; {
		hour, minute, second := at.Clock()
		begins := at.Add(-time.Duration(hour)*time.Hour - time.Duration(minute)*time.Minute - time.Duration(second)*time.Second -
			time.Duration(at.Nanosecond()))
		changed, _ := at.ZoneBounds()
		if changed.IsZero() || changed.Before(begins) {
			return begins
		}
		before := changed.Add(-1)
		if before.Day() != at.Day() {
			return later(begins, changed)
		}
		at = before
	}
}

// nextMidnight is when the day after one that began at midnight begins.
func nextMidnight(midnight time.Time, zone *time.Location) time.Time {
	return Midnight(midnight.Add(36*time.Hour), zone) // days have 23 to 25 hours
}
