package priority_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/spillway-media/spillway/h2/priority"
)

// waits opens n streams that always have bytes, lets frames go, and returns
// the most bytes that went between two services of one stream, and the bytes
// which went out of order.
func waits(o priority.Options, n, frames int, open func(s *priority.Scheduler, st *priority.Stream, i int)) (longest, outOfOrder, total int64) {
	s := priority.New(o)
	streams := make([]priority.Stream, n)
	last := map[*priority.Stream]int64{}
	for i := range streams {
		streams[i].ID = uint32(2*i + 1)
		open(s, &streams[i], i)
		s.SetReady(&streams[i], true)
		last[&streams[i]] = 0
	}
	for range frames {
		st, _ := s.Pick()
		limit := s.Limit()
		if limit == priority.FloorFrame {
			outOfOrder += int64(limit)
		}
		longest = max(longest, total-last[st])
		s.Sent(st, limit)
		total += int64(limit)
		last[st] = total
	}
	for _, since := range last {
		longest = max(longest, total-since)
	}
	return longest, outOfOrder, total
}

// Of n ready streams each is served while n*Floor*Frame bytes go, whatever the
// others are.
func TestNothingStarves(t *testing.T) {
	wait := priority.Params{Urgency: 0}
	kinds := map[string]func(s *priority.Scheduler, st *priority.Stream, i int){
		"behind one that is more urgent": func(s *priority.Scheduler, st *priority.Stream, i int) {
			s.Open(st, image(uint8(min(i, 7))))
		},
		"behind one that is not incremental and does not end": func(s *priority.Scheduler, st *priority.Stream, _ int) {
			s.Open(st, wait)
		},
		"behind what is shorter": func(s *priority.Scheduler, st *priority.Stream, i int) {
			s.Open(st, image(3))
			s.Mark(st, priority.Good, int64(i+1)<<40)
		},
		"behind a class that is served by weights": func(s *priority.Scheduler, st *priority.Stream, i int) {
			s.Open(st, image(uint8(i%2)))
		},
		"of any kind": func(s *priority.Scheduler, st *priority.Stream, i int) {
			r := rand.New(rand.NewPCG(uint64(i), 4))
			s.Open(st, priority.Params{Urgency: uint8(r.IntN(8)), Incremental: r.IntN(3) > 0, Weight: 16})
			s.Mark(st, priority.Phase(r.IntN(5)), r.Int64N(1<<40))
		},
	}
	for name, open := range kinds {
		for _, floor := range []int{2, 4, 16} {
			t.Run(fmt.Sprintf("%s, floor %d", name, floor), func(t *testing.T) {
				const n = 20
				bound := int64(n * floor * priority.Frame)
				longest, _, total := waits(priority.Options{Floor: floor}, n, 4*n*floor, open)
				if total < 2*bound {
					t.Fatalf("only %d bytes have gone, the bound is %d", total, bound)
				}
				if longest > bound {
					t.Errorf("a stream waited while %d bytes went, more than %d", longest, bound)
				}
			})
		}
	}
}

func TestTheFloorTakesLessThanOneInAHundredBytes(t *testing.T) {
	_, outOfOrder, total := waits(priority.Options{}, 50, 20_000, func(s *priority.Scheduler, st *priority.Stream, i int) {
		s.Open(st, image(uint8(i%8)))
		s.Mark(st, priority.Good, 1<<40)
	})
	if outOfOrder == 0 || outOfOrder*100 >= total {
		t.Errorf("%d of %d bytes went out of order", outOfOrder, total)
	}
}

// Short frames, as those of headers, bring the floor's turn no sooner: else it
// would take most of the bytes of a page's beginning.
func TestTheFloorCountsBytes(t *testing.T) {
	s := priority.New(priority.Options{})
	var urgent, patient priority.Stream
	urgent.ID, patient.ID = 1, 3
	s.Open(&urgent, image(0))
	s.Open(&patient, image(7))
	s.SetReady(&urgent, true)
	s.SetReady(&patient, true)
	for gone := 0; gone < 15*priority.Frame; gone += 100 {
		st, _ := s.Pick()
		if st != &urgent || s.Limit() != priority.Frame {
			t.Fatalf("stream %d is next after %d bytes", st.ID, gone)
		}
		s.Sent(st, 100)
	}
	if st, _ := s.Pick(); st != &patient || s.Limit() != priority.FloorFrame {
		t.Errorf("stream %d may send %d bytes when it is the floor's turn", st.ID, s.Limit())
	}
	s.Sent(&patient, priority.FloorFrame)
	if st, _ := s.Pick(); st != &urgent || s.Limit() != priority.Frame {
		t.Errorf("stream %d may send %d bytes when the floor has had its turn", st.ID, s.Limit())
	}
}

// A newcomer's first frame comes within one round: within as many frames as a
// stream of its weight gets one of.
func TestANewcomerIsServedWithinARound(t *testing.T) {
	for name, weights := range weightSets() {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(len(weights)), 2))
			for range 30 {
				l := newLedger(weights)
				for range r.IntN(500) {
					l.send(priority.Frame)
				}
				weight := 1 + r.IntN(256)
				st := &priority.Stream{ID: 1 << 20}
				l.scheduler.Open(st, priority.Params{Urgency: 3, Incremental: true, Weight: uint16(weight)})
				l.scheduler.SetReady(st, true)
				round := int(l.sum)/weight + 2
				for n := 1; ; n++ {
					next, _ := l.scheduler.Pick()
					if next == st {
						break
					}
					if n > round {
						t.Fatalf("a stream of weight %d among weights of %d is not served in %d frames", weight, l.sum, n)
					}
					l.scheduler.Sent(next, priority.Frame)
				}
			}
		})
	}
}

func TestNothingIsAllocatedOnceStreamsHaveBeenThere(t *testing.T) {
	s := priority.New(priority.Options{})
	streams := fill(s, 300, func(i int) priority.Params {
		return priority.Params{Urgency: uint8(i % 8), Incremental: i%3 > 0, Weight: uint16(i%256 + 1)}
	})
	round := func() {
		for i, st := range streams {
			s.Mark(st, priority.Phase(i%5), int64(i)<<10-1)
			s.Prioritize(st, priority.Params{Urgency: uint8(i % 7), Incremental: i%2 > 0})
		}
		for range 1000 {
			st, _ := s.Pick()
			s.Sent(st, s.Limit())
			s.SetReady(st, false)
			s.SetReady(st, true)
		}
		for i, st := range streams {
			s.Close(st)
			s.Open(st, image(uint8(i%8)))
			s.SetReady(st, true)
		}
	}
	round()
	if n := testing.AllocsPerRun(10, round); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
}
