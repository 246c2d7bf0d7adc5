package priority_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spillway-media/spillway/h2/priority"
)

// album is a page of progressive pictures as research has them: their sizes are
// lognormal around 60 KB, a tenth of each is its preview, half is good.
func album(n int, seed uint64) [][]part {
	r := rand.New(rand.NewPCG(seed, 50))
	pictures := make([][]part, n)
	for i := range pictures {
		size := 60e3 * math.Exp(0.8*r.NormFloat64())
		size = min(max(size, 8e3), 400e3)
		preview := int64(size * (0.09 + 0.05*r.Float64()))
		good := int64(size * (0.48 + 0.08*r.Float64()))
		pictures[i] = []part{
			{priority.Header, 160}, {priority.Preview, preview - 160},
			{priority.Good, good - preview}, {priority.Rest, int64(size) - good},
		}
	}
	return pictures
}

// load is when a page's phases had arrived, as parts of its total: of the last
// picture, and on average.
type load struct {
	last, mean [priority.Rest + 1]float64
	index      float64 // progressive speed index
}

// show sends an album with every picture ready from the start, two of three
// outside of the window, as Chromium has them.
func show(o priority.Options, incremental bool, pictures [][]part) load {
	p := newPage(o)
	for i, parts := range pictures {
		params := priority.Params{Urgency: 3, Incremental: incremental}
		if i%3 == 0 {
			params.Urgency = 2
		}
		p.open(uint32(2*i+1), params, append([]part(nil), parts...)...)
	}
	left := map[uint32][]part{}
	for i, parts := range pictures {
		left[uint32(2*i+1)] = append([]part(nil), parts...)
	}
	var l load
	gone := 0.0
	for _, s := range p.run() {
		gone += float64(s.n)
		parts := left[s.id]
		if parts[0].size -= s.n; parts[0].size > 0 {
			continue
		}
		l.last[parts[0].phase] = gone
		l.mean[parts[0].phase] += gone / float64(len(pictures))
		left[s.id] = parts[1:]
	}
	for i := range l.last {
		l.last[i] /= gone
		l.mean[i] /= gone
	}
	l.index = 0.6*l.mean[priority.Preview] + 0.3*l.mean[priority.Good] + 0.1*l.mean[priority.Rest]
	return l
}

// The order alone, without a network: what the page test is to reach is no
// more than what the order of bytes allows.
func TestAPageAppearsBeforeItIsComplete(t *testing.T) {
	for _, n := range []int{20, 50, 100} {
		for seed := range uint64(5) {
			t.Run(fmt.Sprintf("%d pictures, page %d", n, seed), func(t *testing.T) {
				pictures := album(n, seed)
				ours := show(priority.Options{}, true, pictures)
				for _, c := range []struct {
					phase priority.Phase
					most  float64
				}{{priority.Header, 0.01}, {priority.Preview, 0.135}, {priority.Good, 0.55}} {
					if got := ours.last[c.phase]; got > c.most {
						t.Errorf("phase %d of all pictures is there after %.4f of the page, not %.3f", c.phase, got, c.most)
					}
				}
				if n < 50 {
					return // a single large picture can be half of the page
				}
				turns := show(priority.Options{IgnorePhases: true}, true, pictures)
				queue := show(priority.Options{IgnorePhases: true}, false, pictures)
				if ours.index > 0.70*turns.index || ours.index > 0.40*queue.index {
					t.Errorf("speed index %.3f, in turns %.3f, one after another %.3f", ours.index, turns.index, queue.index)
				}
			})
		}
	}
}
