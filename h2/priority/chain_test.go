package priority_test

import (
	"testing"

	"github.com/spillway-media/spillway/h2/priority"
)

type signal struct {
	stream, dependsOn uint32
	exclusive         bool
	weight            int
}

func TestChain(t *testing.T) {
	const unknown = -1
	for name, c := range map[string]struct {
		signals []signal
		want    []int // urgencies
	}{
		"a page of Chromium's": {
			[]signal{{1, 0, true, 256}, {3, 1, true, 220}, {5, 3, true, 147}, {7, 5, true, 147}, {9, 3, true, 183}, {11, 7, true, 110}},
			[]int{0, 1, 3, 3, 2, 4},
		},
		"a picture comes into view: it is moved up, and who depended on it": {
			[]signal{{1, 0, true, 256}, {3, 1, true, 147}, {5, 3, true, 147}, {5, 3, true, 147}, {3, 1, true, 220}},
			[]int{0, 3, 3, 3, 1},
		},
		"all others have ended, so one depends on nothing": {
			[]signal{{1, 0, true, 256}, {3, 0, true, 147}},
			[]int{0, 3},
		},
		"a stream may be put behind a later one": {
			[]signal{{1, 0, true, 256}, {3, 1, true, 147}, {5, 3, true, 147}, {3, 5, true, 110}},
			[]int{0, 3, 3, 4},
		},
		"a request that is held back": {
			[]signal{{1, 0, true, 256}, {3, 1, true, 74}},
			[]int{0, 5},
		},
		"Firefox does not chain": {
			[]signal{{1, 0, false, 42}, {3, 0, false, 12}},
			[]int{unknown, unknown},
		},
		"nghttp makes groups of streams that are not there": {
			[]signal{{3, 0, false, 201}, {5, 0, false, 101}, {7, 0, false, 1}},
			[]int{unknown, unknown, unknown},
		},
		"the first link depends on a stream that is not there": {
			[]signal{{3, 1, true, 147}, {5, 0, true, 147}},
			[]int{unknown, unknown},
		},
		"a link depends on a stream that is not there": {
			[]signal{{1, 0, true, 256}, {3, 99, true, 147}, {5, 1, true, 147}},
			[]int{0, unknown, unknown},
		},
		"a link depends on a stream of the server's": {
			[]signal{{5, 0, true, 256}, {7, 2, true, 147}},
			[]int{0, unknown},
		},
		"a stream depends on itself": {
			[]signal{{1, 0, true, 256}, {3, 3, true, 147}},
			[]int{0, unknown},
		},
		"one that is not exclusive ends what is known": {
			[]signal{{1, 0, true, 256}, {3, 1, false, 147}, {5, 1, true, 147}},
			[]int{0, unknown, unknown},
		},
		"a weight that is not Chromium's ends what is known": {
			[]signal{{1, 0, true, 256}, {3, 1, true, 16}, {5, 1, true, 147}},
			[]int{0, unknown, unknown},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var chain priority.Chain
			for i, s := range c.signals {
				got := unknown
				if u, known := chain.Observe(s.stream, s.dependsOn, s.exclusive, s.weight); known {
					got = int(u)
				}
				if got != c.want[i] {
					t.Errorf("signal %d, %+v: urgency %d, not %d", i, s, got, c.want[i])
				}
			}
		})
	}
}
