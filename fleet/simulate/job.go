package simulate

import (
	"iter"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// Trace is the jobs of one replay in order of time. It can be read more than
// once, by several replays at the same time, and ends with the first error.
type Trace = iter.Seq2[fleet.PastJob, error]

// class is what the routing table tells jobs apart by, beside their priority.
type class uint8

const (
	short   class = iota
	resumes       // long, with checkpoints
	fixed         // long, without: never on a spot machine
	classes
)

// long is from where on a job is long.
const long = 30 * time.Minute

const priorities = 10

// job is a job that waits or runs. Times are since the beginning of the replay.
type job struct {
	arrived time.Duration
	since   time.Duration // since when it waits: later than arrived after an interruption
	service time.Duration
	left    time.Duration // of service
	queue   uint8
	lane    uint8
	failed  bool
}

// lane numbers what a job waits in: ten priorities of three classes each.
func laneOf(priority int, c class) uint8 {
	priority = min(max(priority, 1), priorities)
	return uint8((priority-1)*int(classes) + int(c))
}

func priorityOf(lane uint8) int { return int(lane)/int(classes) + 1 }

func classOf(lane uint8) class { return class(lane % uint8(classes)) }

func classFor(p fleet.PastJob) class {
	estimate := p.Estimate
	if estimate == 0 {
		estimate = p.Service
	}
	switch {
	case estimate <= long:
		return short
	case p.Checkpointable:
		return resumes
	}
	return fixed
}

// allLanes and spotLanes are what machines of a market may claim: see
// jobs.Market.Allowed.
const allLanes = 1<<(priorities*int(classes)) - 1

func spotLanes() uint32 {
	lanes := uint32(0)
	for p := 4; p <= priorities; p++ {
		lanes |= 1<<laneOf(p, short) | 1<<laneOf(p, resumes)
	}
	return lanes
}

// lanesUpTo bounds a worker to priorities up to maxRank; 0 bounds nothing, and
// less than 0 leaves it none.
func lanesUpTo(maxRank int) uint32 {
	if maxRank < 0 {
		return 0
	}
	if maxRank == 0 || maxRank >= priorities {
		return allLanes
	}
	return 1<<(maxRank*int(classes)) - 1
}
