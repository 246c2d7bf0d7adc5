package simulate

import (
	"math/bits"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// fifo is a ring of waiting jobs.
type fifo struct {
	ring []job
	head int
	n    int
}

func (f *fifo) push(j job) {
	if f.n == len(f.ring) {
		grown := make([]job, max(8, 2*f.n))
		for i := range f.n {
			grown[i] = f.ring[(f.head+i)&(len(f.ring)-1)]
		}
		f.ring, f.head = grown, 0
	}
	f.ring[(f.head+f.n)&(len(f.ring)-1)] = j
	f.n++
}

func (f *fifo) pop() job {
	j := f.ring[f.head]
	f.head = (f.head + 1) & (len(f.ring) - 1)
	f.n--
	return j
}

func (f *fifo) first() *job { return &f.ring[f.head] }

// window is over how long arrivals are counted.
const window = 5 * time.Minute

// queue is what waits in one queue, and what is known of what went through it.
type queue struct {
	name    string
	lanes   [priorities * int(classes)]fifo
	mask    uint32 // lanes that hold something
	waiting int
	running int

	seconds [int(window / time.Second)]uint32 // arrivals by second, as a ring
	upTo    time.Duration                     // before which the ring is clean
	recent  [100]time.Duration                // service times of the latest attempts, as a ring
	failed  [100]bool
	ended   int // attempts that ended, ever

	result QueueResult
}

func (q *queue) push(j job) {
	q.lanes[j.lane].push(j)
	q.mask |= 1 << j.lane
	q.waiting++
}

// head is the lane to take from next, of those allowed: the lowest priority
// number, and in it what has waited longest.
func (q *queue) head(allowed uint32) (lane uint8, ok bool) {
	mask := q.mask & allowed
	if mask == 0 {
		return 0, false
	}
	lane = uint8(bits.TrailingZeros32(mask))
	for next := lane + 1; classOf(next) != short; next++ {
		if mask&(1<<next) != 0 && q.lanes[next].first().since < q.lanes[lane].first().since {
			lane = next
		}
	}
	return lane, true
}

func (q *queue) pop(lane uint8) job {
	f := &q.lanes[lane]
	j := f.pop()
	if f.n == 0 {
		q.mask &^= 1 << lane
	}
	q.waiting--
	return j
}

// arrived counts a job in its second.
func (q *queue) arrived(now time.Duration) {
	q.expire(now)
	q.seconds[int(now/time.Second)%len(q.seconds)]++
}

// expire clears the seconds that have gone by since it was last called.
func (q *queue) expire(now time.Duration) {
	second := now.Truncate(time.Second)
	from := max(q.upTo, second-window+time.Second)
	for t := from; t <= second; t += time.Second {
		q.seconds[int(t/time.Second)%len(q.seconds)] = 0
	}
	q.upTo = max(q.upTo, second+time.Second)
}

// finished notes an attempt that came to its end.
func (q *queue) finished(j job) {
	at := q.ended % len(q.recent)
	q.recent[at], q.failed[at] = j.service, j.failed
	q.ended++
}

// state is what a tick sees of the queue.
func (q *queue) state(now time.Duration) fleet.QueueState {
	s := fleet.QueueState{
		Name: q.name, Depth: int64(q.waiting), Rows: int64(q.waiting), Source: "database", Running: int64(q.running),
	}
	for mask := q.mask; mask != 0; mask &= mask - 1 {
		lane := uint8(bits.TrailingZeros32(mask))
		n, age := int64(q.lanes[lane].n), now-q.lanes[lane].first().since
		s.Oldest = max(s.Oldest, age)
		band := &s.Bands[bandOf(priorityOf(lane))]
		band.Depth += n
		band.Oldest = max(band.Oldest, age)
		addWait(&s.Waits, lane, n)
	}
	q.expire(now)
	sum := 0
	for _, n := range q.seconds {
		sum += int(n)
	}
	s.Arrivals = float64(sum) / window.Seconds()
	q.figures(&s)
	return s
}

// figures are of the latest attempts.
func (q *queue) figures(s *fleet.QueueState) {
	s.Finished = min(q.ended, len(q.recent))
	total := time.Duration(0)
	for i := range s.Finished {
		total += q.recent[i]
		if q.failed[i] {
			s.Failed++
		}
	}
	if s.Finished > 0 {
		s.Service = total / time.Duration(s.Finished)
	}
}

func bandOf(priority int) int {
	switch {
	case priority <= 3:
		return fleet.Interactive
	case priority <= 6:
		return fleet.Standard
	}
	return fleet.Bulk
}

// addWait counts jobs in the row of the routing table that they belong to.
func addWait(w *fleet.Waits, lane uint8, n int64) {
	band := bandOf(priorityOf(lane))
	switch {
	case classOf(lane) == fixed:
		w.LongFixed += n
	case band == fleet.Interactive:
		w.Interactive += n
	case classOf(lane) == resumes:
		w.LongResumes += n
	case band == fleet.Standard:
		w.Standard += n
	default:
		w.Bulk += n
	}
}
