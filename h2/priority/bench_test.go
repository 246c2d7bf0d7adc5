package priority_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/spillway-media/spillway/h2/priority"
)

// Streams of all weights, all of them ready all the time: the most that a
// decision by weights can cost.
func BenchmarkPick(b *testing.B) {
	for _, n := range []int{100, 256, 1000} {
		b.Run(fmt.Sprintf("streams=%d", n), func(b *testing.B) {
			s := priority.New(priority.Options{})
			fill(s, n, func(i int) priority.Params {
				return priority.Params{Urgency: 3, Incremental: true, Weight: uint16(i%256 + 1)}
			})
			pickAndSend(b, s)
		})
	}
}

// A page of pictures in the phase where the shortest goes first.
func BenchmarkPickShortest(b *testing.B) {
	for _, n := range []int{100, 256, 1000} {
		b.Run(fmt.Sprintf("streams=%d", n), func(b *testing.B) {
			s := priority.New(priority.Options{})
			streams := fill(s, n, func(int) priority.Params { return priority.Params{Urgency: 3, Incremental: true} })
			for i, st := range streams {
				s.Mark(st, priority.Rest, 1<<40+int64(i))
			}
			pickAndSend(b, s)
		})
	}
}

// A stream that comes and goes with each frame, as those of slow handlers do.
func BenchmarkPickOneFrameEach(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("streams=%d", n), func(b *testing.B) {
			s := priority.New(priority.Options{})
			fill(s, n, func(i int) priority.Params {
				return priority.Params{Urgency: 3, Incremental: true, Weight: uint16(i%256 + 1)}
			})
			b.ReportAllocs()
			for b.Loop() {
				st, _ := s.Pick()
				s.Sent(st, priority.Frame)
				s.SetReady(st, false)
				s.SetReady(st, true)
			}
		})
	}
}

func pickAndSend(b *testing.B, s *priority.Scheduler) {
	for range 100_000 { // into the state that lasts
		st, _ := s.Pick()
		s.Sent(st, priority.Frame)
	}
	b.ReportAllocs()
	for b.Loop() {
		st, _ := s.Pick()
		s.Sent(st, priority.Frame)
	}
}

// fill opens n streams, ready to send, in an order that tells nothing.
func fill(s *priority.Scheduler, n int, params func(i int) priority.Params) []*priority.Stream {
	streams := make([]*priority.Stream, n)
	for i, at := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		streams[i] = &priority.Stream{ID: uint32(2*i + 1)}
		s.Open(streams[i], params(at))
		s.SetReady(streams[i], true)
	}
	return streams
}
