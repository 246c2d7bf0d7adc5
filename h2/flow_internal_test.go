package h2

import (
	"testing"
)

// CVE-2026-78669: whoever changes the window of all streams by a loop over them
// lets six bytes cost as much as there are streams. Here there is nothing to loop
// over: looking at any of these streams would end the test.
func TestWindowOfAllStreamsIsChangedWithoutLookingAtThem(t *testing.T) {
	c := &conn{streams: map[uint32]*stream{1: nil, 3: nil, 5: nil}, woken: true}
	c.blocked.n = 3
	for i := range int64(1000) {
		if err := c.setPeerWindow(i % 2 * (1<<31 - 1)); err != nil {
			t.Fatal(err)
		}
	}
	if !c.recheck {
		t.Error("streams without a window are not looked at again by the next write")
	}
}

func TestPhasesCutWhatAFrameMayHold(t *testing.T) {
	st := &stream{}
	st.out.append(make([]byte, 100))
	st.sent = 1000
	tests := []struct {
		name  string
		marks []mark
		want  int
	}{
		{"without a mark it is all that waits", nil, 100},
		{"with one it ends there", []mark{{at: 1030}}, 30},
		{"with several it ends at the next", []mark{{at: 1001}, {at: 1002}}, 1},
		{"a mark at the end cuts nothing", []mark{{at: 1100}}, 100},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			st.marks = test.marks
			if got := st.inPhase(); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}
