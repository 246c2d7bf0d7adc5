package fairness

import "math/rand/v2"

// shuffled is n weights, 1 to 256 as often as each comes, in no order.
func shuffled(n int) []int {
	weights := source().Perm(n)
	for i, w := range weights {
		weights[i] = w%256 + 1
	}
	return weights
}

// chromium is 256 requests as that browser weights them: a page of pictures,
// some of them in view.
func chromium() []int {
	kinds := [...]struct{ weight, requests int }{{256, 8}, {220, 12}, {183, 60}, {147, 150}, {110, 26}}
	var weights []int
	for _, k := range kinds {
		for range k.requests {
			weights = append(weights, k.weight)
		}
	}
	source().Shuffle(len(weights), func(i, j int) { weights[i], weights[j] = weights[j], weights[i] })
	return weights
}

// sets are weights of which nothing is known but that there are many kinds:
// n times 2 to 257 streams, each up to a limit of its own, and one that is as
// heavy as all the others together.
func sets(n int) [][]int {
	r := source()
	out := [][]int{heavyAndLight()}
	for range n {
		set := make([]int, 2+r.IntN(256))
		most := 1 << r.IntN(9)
		for i := range set {
			set[i] = 1 + r.IntN(most)
		}
		out = append(out, set)
	}
	return out
}

func heavyAndLight() []int {
	set := make([]int, 257)
	for i := range set {
		set[i] = 1
	}
	set[128] = 256
	return set
}

func sum(weights []int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	return total
}

// source is the same each time, so that runs can be compared.
func source() *rand.Rand { return rand.New(rand.NewPCG(7, 9218)) }
