package jobs

import (
	"slices"
	"strings"
	"testing"
)

func TestSlotsThatAreKept(t *testing.T) {
	all := []string{"images", "ocr", "bulk"}
	one := reserve{"images": 1}
	two := reserve{"images": 1, "ocr": 2}
	for _, tc := range []struct {
		name        string
		is          reserve
		held        map[string]int
		room, slots int
		queues      []string
		n           int
	}{
		{"none kept, all are open", nil, map[string]int{"bulk": 1}, 3, 4, all, 3},
		{"none kept and no room", nil, nil, 0, 4, all, 0},
		{"one is not for the others", one, nil, 4, 4, all, 3},
		{"what shares leaves it free", one, map[string]int{"bulk": 3}, 1, 4, []string{"images"}, 1},
		{"a queue beyond its own shares", one, map[string]int{"images": 4}, 0, 4, all, 0},
		{"and leaves the rest to all", one, map[string]int{"images": 2}, 2, 4, all, 2},
		{"two queues with their own are asked for one job", two, map[string]int{"bulk": 1}, 3, 4, []string{"images", "ocr"}, 1},
		{"the one that has any left gets all of it", two, map[string]int{"bulk": 1, "images": 1}, 2, 4, []string{"ocr"}, 2},
		{"less when there is less room", two, map[string]int{"bulk": 1, "images": 1}, 1, 4, []string{"ocr"}, 1},
		{"at a narrow gate one job may share", two, nil, 2, 8, all, 1},
		{"but not two", two, map[string]int{"bulk": 1}, 1, 8, []string{"images", "ocr"}, 1},
		{"nothing is open when all is used", two, map[string]int{"bulk": 1, "images": 1, "ocr": 2}, 1, 4, nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			queues, n := tc.is.open(all, tc.held, tc.room, tc.slots)
			if n != tc.n || n > 0 && !slices.Equal(queues, tc.queues) {
				t.Errorf("%d jobs of %v may be claimed; want %d of %v", n, queues, tc.n, tc.queues)
			}
		})
	}
}

// Whatever order jobs come and go in, slots that are kept are there.
func FuzzSlotsThatAreKept(f *testing.F) {
	f.Add([]byte{0, 1, 2, 1, 1, 200, 3})
	f.Fuzz(func(t *testing.T, moves []byte) {
		queues, r, slots := []string{"images", "ocr", "bulk"}, reserve{"images": 1, "ocr": 2}, 5
		held, total := map[string]int{}, 0
		for _, m := range moves {
			queue := queues[int(m)%3]
			if m >= 128 {
				if held[queue] > 0 {
					held[queue]--
					total--
				}
				continue
			}
			open, n := r.open(queues, held, slots-total, slots)
			for range n {
				if slices.Contains(open, queue) {
					held[queue]++
					total++
				}
			}
			left := slots - total
			for name, kept := range r {
				left -= max(0, kept-held[name])
			}
			if left < 0 {
				t.Fatalf("%v are held of %d slots and %v are kept", held, slots, r)
			}
		}
	})
}

func TestSlotsThatCannotBeKept(t *testing.T) {
	queues := []string{"images", "bulk"}
	for _, tc := range []struct {
		name  string
		is    reserve
		slots int
		want  string
	}{
		{"for a queue that is not served", reserve{"ocr": 1}, 4, "not in Row.Queues"},
		{"fewer than none", reserve{"images": -1}, 4, "at least 0"},
		{"all of them, with a queue that has none", reserve{"images": 4}, 4, "needs 5 slots"},
		{"more than there are", reserve{"images": 3, "bulk": 2}, 4, "needs 5 slots"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := tc.is.validate(queues, tc.slots); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v; want one with %q", err, tc.want)
			}
		})
	}
	for _, fine := range []reserve{nil, {"images": 3}, {"images": 2, "bulk": 2}} {
		if err := fine.validate(queues, 4); err != nil {
			t.Errorf("%v: %v", fine, err)
		}
	}
}
