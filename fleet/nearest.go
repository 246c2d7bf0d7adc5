package fleet

// nearest is the known name that an unknown one most likely stands for, "" when
// even that differs in more than a third of its letters: a guess that far off
// misleads.
func nearest(name string, known []string) string {
	if len(name) > 64 {
		name = name[:64]
	}
	best, fewest := "", max(1, (len(name)+1)/3)+1
	for _, candidate := range known {
		if edits := editsBetween(name, candidate); edits < fewest {
			best, fewest = candidate, edits
		}
	}
	return best
}

// editsBetween counts single letters put in, left out and mistaken, and
// neighbours swapped.
func editsBetween(a, b string) int {
	older, previous := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(previous[j+1]+1, row[j]+1, previous[j]+change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], older[j-1]+1)
			}
		}
		older, previous = previous, row
	}
	return previous[len(b)]
}
