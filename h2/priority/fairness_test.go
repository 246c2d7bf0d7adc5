package priority_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/spillway-media/spillway/h2/priority"
)

// ledger follows what streams have had, all of which are ready all the time,
// and how far that is from their share. It counts in bytes times the sum of
// the weights, which are whole numbers: nothing is rounded.
type ledger struct {
	scheduler *priority.Scheduler
	streams   []*priority.Stream
	weights   []int64
	sum       int64
	got       []int64
	total     int64
}

func newLedger(weights []int) *ledger {
	l := &ledger{scheduler: priority.New(priority.Options{}), got: make([]int64, len(weights))}
	for i, w := range weights {
		st := &priority.Stream{ID: uint32(2*i + 1), Owner: i}
		l.scheduler.Open(st, priority.Params{Urgency: 3, Incremental: true, Weight: uint16(w)})
		l.scheduler.SetReady(st, true)
		l.streams = append(l.streams, st)
		l.weights = append(l.weights, int64(w))
		l.sum += int64(w)
	}
	return l
}

func (l *ledger) send(n int64) {
	st, _ := l.scheduler.Pick()
	l.scheduler.Sent(st, int(n))
	l.got[st.Owner.(int)] += n
	l.total += n
}

// lag is the most that any stream is behind or ahead of its share, in frames.
func (l *ledger) lag() float64 {
	var most int64
	for i, got := range l.got {
		off := got*l.sum - l.total*l.weights[i]
		most = max(most, off, -off)
	}
	return float64(most) / float64(l.sum) / priority.Frame
}

// weightSets are what the promise is tested with: all kinds, and any.
func weightSets() map[string][]int {
	r := rand.New(rand.NewPCG(3, 5))
	sets := map[string][]int{
		"equal weights":                      repeat(16, 50),
		"one stream":                         {7},
		"Chromium's five weights":            append(append(append(append(repeat(256, 1), repeat(220, 6)...), repeat(183, 30)...), repeat(147, 60)...), repeat(110, 9)...),
		"1 to 256, shuffled":                 shuffled(r),
		"one heavy stream, many light":       append(repeat(1, 255), 256),
		"one light stream, many heavy":       append(repeat(256, 99), 1),
		"a half, a quarter, and so on":       {128, 64, 32, 16, 8, 4, 2, 1, 1},
		"two, of which one is a little more": {100, 101},
	}
	for i := range 40 {
		set := make([]int, 2+r.IntN(120))
		most := 1 << r.IntN(9)
		for j := range set {
			set[j] = 1 + r.IntN(most)
		}
		sets[fmt.Sprintf("random set %d", i)] = set
	}
	return sets
}

func repeat(w, n int) []int {
	set := make([]int, n)
	for i := range set {
		set[i] = w
	}
	return set
}

func shuffled(r *rand.Rand) []int {
	set := r.Perm(256)
	for i := range set {
		set[i]++
	}
	return set
}

// The windows are all that begin with the first frame and end after any later
// one, up to two cycles; a cycle is as many frames as the weights' sum.
func TestNoStreamIsEverMoreThanAFrameFromItsShare(t *testing.T) {
	for name, weights := range weightSets() {
		t.Run(name+", whole frames", func(t *testing.T) {
			l := newLedger(weights)
			for range min(2*l.sum, 3000) {
				l.send(priority.Frame)
				if lag := l.lag(); lag > 1 {
					t.Fatalf("lag is %.4f frames after %d frames", lag, l.total/priority.Frame)
				}
			}
		})
		t.Run(name+", frames of all sizes", func(t *testing.T) {
			l := newLedger(weights)
			r := rand.New(rand.NewPCG(uint64(len(weights)), 9))
			for range min(2*l.sum, 3000) {
				l.send(1 + r.Int64N(priority.Frame))
				if lag := l.lag(); lag > 1 {
					t.Fatalf("lag is %.4f frames after %d bytes", lag, l.total)
				}
			}
		})
	}
}

func TestAfterACycleEveryStreamHasExactlyItsShare(t *testing.T) {
	for name, weights := range weightSets() {
		t.Run(name, func(t *testing.T) {
			l := newLedger(weights)
			for range l.sum {
				l.send(priority.Frame)
			}
			for i, w := range l.weights {
				if l.got[i] != w*priority.Frame {
					t.Fatalf("a stream of weight %d has had %d bytes, not %d frames", w, l.got[i], w)
				}
			}
		})
	}
}

// Whoever stays while others come and go keeps its proportion to all who stay.
func TestStreamsThatComeAndGoDoNotChangeTheProportionsOfTheOthers(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := newLedger(randomWeights(r, 40))
		const stay = 10 // the first of them
		worst := 0.0
		for range 20_000 {
			visitor := l.streams[stay+r.IntN(len(l.streams)-stay)]
			l.scheduler.SetReady(visitor, r.IntN(3) > 0)
			l.send(1 + r.Int64N(priority.Frame))
			worst = max(worst, l.apart(stay))
		}
		if worst > 1 {
			t.Errorf("seed %d: two that stay are apart by %.3f of what two frames each mean to them", seed, worst)
		}
	}
}

// apart is by how much the normalised service of the first n differs at most,
// as a share of a frame of the one and a frame of the other.
func (l *ledger) apart(n int) float64 {
	worst := 0.0
	for i := range n {
		for j := range i {
			a := float64(l.got[i]) / float64(l.weights[i])
			b := float64(l.got[j]) / float64(l.weights[j])
			frames := priority.Frame/float64(l.weights[i]) + priority.Frame/float64(l.weights[j])
			worst = max(worst, max(a-b, b-a)/frames)
		}
	}
	return worst
}

func randomWeights(r *rand.Rand, n int) []int {
	set := make([]int, n)
	for i := range set {
		set[i] = 1 + r.IntN(256)
	}
	return set
}
