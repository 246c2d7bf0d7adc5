package transform

import (
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// lane is one of the kinds of work. They have workers of their own and share
// the CPU by a gate, so that a thumbnail never waits behind a row of animations.
type lane int

const (
	quick lane = iota // still pictures, cheap ones first
	slow              // animations, AVIF, JPEG XL and whatever else is much work
	lanes             // those that the line keeps account of

	// background is work that nobody waits for at a screen. It takes no place
	// in line, and of the CPU next to nothing while somebody else wants it.
	background = lanes
	kinds      = lanes + 1
)

// names are what the workers are called in metrics and reasons.
func (l lane) String() string {
	switch l {
	case slow:
		return "slow-images"
	case background:
		return "background-images"
	}
	return "images"
}

// share is what part of the CPU a lane has while both have work.
func (l lane) share() int {
	switch l {
	case background:
		return 1
	case slow:
		return 4
	}
	return 12
}

// portion is share as a part of the whole, of what the line gives out.
func (l lane) portion() float64 {
	return float64(l.share()) / float64(quick.share()+slow.share())
}

// laneOf tells where a plan belongs.
func laneOf(p *media.Plan, inBackground bool) lane {
	switch {
	case inBackground:
		return background
	case p.Heavy():
		return slow
	}
	return quick
}

// guess is the lane of a request whose source has not been looked at yet.
func guess(job Job) lane {
	switch job.Request.Format {
	case media.AVIF, media.JXL, media.GIF:
		return slow
	}
	return quick
}

// classes and headStart order a lane by cost: a plan goes as if it had come
// twice its cost later than it did. So cheap plans pass dear ones, but only
// those that come within that time, and nobody waits for ever.
const (
	classes   = 16
	headStart = 50 * time.Millisecond
)

func classOf(cost time.Duration) int {
	return int(min(max(2*cost/headStart, 0), classes-1))
}
