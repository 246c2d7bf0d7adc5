package fairness

import "math"

// Share is what came of one window: the frames from the first to a given one.
type Share struct {
	Frames  int     // the length of the window
	Within  int     // streams within 1 % of their share
	Off     int     // streams off it by 100 % or more
	Mean    float64 // error, as a part of a share
	Lag     float64 // the most that a stream was behind or ahead, after any frame of it, in frames
	Jain    float64 // index of what each has had, divided by its weight
	Streams int
}

// shares lets a contender send, and looks at it after each of the windows,
// which are in order of their length.
func shares(c contender, weights []int, windows []int) []Share {
	sum := 0
	for i, w := range weights {
		c.add(i, w)
		sum += w
	}
	got := make([]int, len(weights))
	var lag int
	var out []Share
	for sent := 1; sent <= windows[len(windows)-1]; sent++ {
		got[c.next()]++
		lag = max(lag, furthest(got, weights, sent, sum))
		if sent == windows[len(out)] {
			out = append(out, judge(got, weights, sent, sum, lag))
		}
	}
	return out
}

// furthest is the most that a stream is off its share, in frames times sum.
func furthest(got, weights []int, sent, sum int) int {
	most := 0
	for i, n := range got {
		off := n*sum - sent*weights[i]
		most = max(most, off, -off)
	}
	return most
}

func judge(got, weights []int, sent, sum, lag int) Share {
	s := Share{Frames: sent, Streams: len(got), Lag: float64(lag) / float64(sum)}
	var total, squares float64
	for i, n := range got {
		ideal := float64(sent*weights[i]) / float64(sum)
		off := math.Abs(float64(n)-ideal) / ideal
		s.Mean += off / float64(len(got))
		if off <= 0.01 {
			s.Within++
		}
		if off >= 1 {
			s.Off++
		}
		normal := float64(n) / float64(weights[i])
		total += normal
		squares += normal * normal
	}
	s.Jain = total * total / (float64(len(got)) * squares)
	return s
}

// wait is how many frames go, at most most, before a stream is served that
// comes when 2048 are gone.
func wait(c contender, weights []int, weight, most int) int {
	for i, w := range weights {
		c.add(i, w)
	}
	for range 2048 {
		c.next()
	}
	c.add(len(weights), weight)
	for n := 1; n <= most; n++ {
		if c.next() == len(weights) {
			return n
		}
	}
	return most + 1
}
