package jobs

import "testing"

func TestRoom(t *testing.T) {
	for _, tc := range []struct {
		name string
		is   admission
		want int
	}{
		{"without a gate, the free slots", admission{free: 3}, 3},
		{"more jobs than slots are none", admission{free: -1}, 0},
		{"with a gate, no more than it has cores", admission{free: 9, gated: true, slots: 4}, 4},
		{"less those that run", admission{free: 9, gated: true, slots: 4, running: 1, mine: 1}, 3},
		{"less those that have not entered", admission{free: 9, gated: true, slots: 4, running: 1, mine: 1, outside: 2}, 1},
		{"a full gate has none", admission{free: 9, gated: true, slots: 4, running: 4, mine: 4}, 0},
		{"one that others fill has one, to wait for its turn", admission{free: 9, gated: true, slots: 4, running: 5}, 1},
		{"but not two", admission{free: 9, gated: true, slots: 4, running: 4, outside: 1}, 0},
		{"nor one where no slot is free", admission{free: 0, gated: true, slots: 4, running: 4}, 0},
		{"of memory nothing is known at first", admission{free: 9, gated: true, slots: 4, budget: 100, spare: 100}, 1},
		{"then the heaviest counts", admission{free: 9, gated: true, slots: 4, budget: 100, spare: 100, heaviest: 40}, 2},
		{"which may not fit", admission{free: 9, gated: true, slots: 4, running: 1, mine: 1, budget: 100, spare: 20, heaviest: 80}, 1},
		{"and waits alone", admission{free: 9, gated: true, slots: 4, running: 1, mine: 1, outside: 1, budget: 100, spare: -60, heaviest: 80}, 0},
		{"memory that others hold leaves one to wait", admission{free: 9, gated: true, slots: 4, running: 2, budget: 100, spare: 0, heaviest: 80}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.is.room(); got != tc.want {
				t.Errorf("room for %d, want %d", got, tc.want)
			}
		})
	}
}
