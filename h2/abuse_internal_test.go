package h2

import "testing"

// CVE-2026-78669: a client that changes INITIAL_WINDOW_SIZE over and over costs
// an addition each time. Streams that are nil show that none is looked at.
func TestInitialWindowLooksAtNoStream(t *testing.T) {
	c := &conn{s: &Server{}, peerWindow: startWindow, maxCredit: 1000}
	c.streams = map[uint32]*stream{}
	for id := uint32(1); id < 2000; id += 2 {
		c.streams[id] = nil
	}
	c.blocked.n = 1000
	for i := range 10_000 {
		for _, window := range []int64{0, startWindow, maxWindow - 1000, int64(i)} {
			if err := c.setPeerWindow(window); err != nil {
				t.Fatal(err)
			}
		}
	}
	if c.peerWindow != 9999 || !c.recheck {
		t.Errorf("the window is %d (looked at later: %v), want 9999", c.peerWindow, c.recheck)
	}
}

func TestQueueForgetsStreamsThatAreGone(t *testing.T) {
	var f fifo
	var kept []*stream
	for i := range 10_000 {
		st := &stream{id: uint32(i)}
		f.push(st)
		if i%100 == 0 {
			kept = append(kept, st)
			continue
		}
		st.gone = true
		f.forget()
	}
	if n := len(f.items); n > 2*len(kept)+130 {
		t.Errorf("%d streams wait, of which %d are there", n, len(kept))
	}
	for len(kept) > 0 {
		st := f.peek()
		f.pop()
		if st.gone {
			continue
		}
		if st != kept[0] {
			t.Fatalf("stream %d comes next, want %d", st.id, kept[0].id)
		}
		kept = kept[1:]
	}
	for st := f.peek(); st != nil; st = f.peek() {
		f.pop()
	}
	if f.gone != 0 {
		t.Errorf("%d streams that are gone are left of none", f.gone)
	}
}
