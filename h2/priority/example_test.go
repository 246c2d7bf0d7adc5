package priority_test

import (
	"fmt"

	"github.com/spillway-media/spillway/h2/priority"
)

// Two progressive pictures and a style sheet that comes later share a
// connection. Whoever writes frames asks before each of them.
func ExampleScheduler() {
	s := priority.New(priority.Options{})
	open := func(id uint32, name, field string) *priority.Stream {
		st := &priority.Stream{ID: id, Owner: name}
		s.Open(st, priority.Merge(priority.ParseField(field), priority.NoWish()))
		s.SetReady(st, true)
		return st
	}
	frame := func(n int) {
		st, _ := s.Pick()
		n = min(n, s.Limit())
		fmt.Println(n, "bytes of", st.Owner)
		s.Sent(st, n)
	}

	large, small := open(1, "a large picture", "u=3, i"), open(3, "a small picture", "u=3, i")
	s.Mark(large, priority.Header, 160)
	s.Mark(small, priority.Preview, 2000)
	frame(160)
	s.Mark(large, priority.Preview, 9000)
	frame(2000)
	s.Mark(small, priority.Rest, 3000)
	sheet := open(5, "a style sheet", "u=0")
	frame(8000)
	s.Close(sheet)
	frame(9000)

	// Output:
	// 160 bytes of a large picture
	// 2000 bytes of a small picture
	// 8000 bytes of a style sheet
	// 9000 bytes of a large picture
}
