package media

// Nearest is the known name that an unknown one most likely stands for: the one
// with the fewest single-letter edits, on a tie the earlier. It is empty when
// even that differs in more than a third of the letters, since a guess that far
// off misleads.
func Nearest(name string, known []string) string {
	name = truncate(name, 64)
	best, fewest := "", max(1, (len(name)+1)/3)+1
	for _, candidate := range known {
		if edits := editDistance(name, candidate); edits < fewest {
			best, fewest = candidate, edits
		}
	}
	return best
}

// editDistance counts insertions, deletions, substitutions and swaps of
// neighbours, which are what fingers do most (litsen for listen).
func editDistance(a, b string) int {
	older := make([]int, len(b)+1)
	previous := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(previous[j]+1, row[j-1]+1, previous[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, previous = previous, row
	}
	return previous[len(b)]
}
