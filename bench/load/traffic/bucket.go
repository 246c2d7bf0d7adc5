package traffic

import "time"

// Bucket is a token bucket of bytes. It belongs to one reader.
type Bucket struct {
	rate  float64 // bytes a second
	burst float64
	level float64
	last  time.Time
}

// NewBucket lets rate bytes a second through, and up to burst at once. It is
// full at the start.
func NewBucket(rate, burst int, now time.Time) *Bucket {
	return &Bucket{rate: float64(rate), burst: float64(burst), level: float64(burst), last: now}
}

// Take takes n bytes out, at once or on credit, and tells how long to wait
// until the credit is paid back.
func (b *Bucket) Take(now time.Time, n int) (wait time.Duration) {
	b.level = min(b.burst, b.level+b.rate*max(0, now.Sub(b.last).Seconds()))
	b.last = now
	b.level -= float64(n)
	if b.level >= 0 {
		return 0
	}
	return time.Duration(-b.level / b.rate * float64(time.Second))
}
