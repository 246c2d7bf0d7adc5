package priority_test

import (
	"fmt"

	"github.com/spillway-media/spillway/h2/priority"
)

// Two progressive pictures and a style sheet that comes later share a
// connection. Whoever writes frames asks before each of them.
func Example() {
	s := priority.New(priority.Options{})
	open := func(id uint32, name, field string) *priority.Stream {
		st := &priority.Stream{ID: id, Owner: name}
		s.Open(st, priority.Merge(priority.ParseField(field), priority.NoWish()))
		s.SetReady(st, true)
		return st
	}
	write := func(n int) {
		st, _ := s.Pick()
		n = min(n, s.Limit())
		fmt.Println(n, "bytes of", st.Owner)
		s.Sent(st, n)
	}

	large, small := open(1, "the large picture", "u=3, i"), open(3, "the small picture", "u=3, i")
	s.Mark(large, priority.Header, 160)
	s.Mark(small, priority.Preview, 2000)
	write(160) // a header goes before any preview
	s.Mark(large, priority.Preview, 9000)
	write(2000) // of two previews the shorter one
	s.Mark(small, priority.Rest, 3000)
	sheet := open(5, "the style sheet", "u=0")
	write(8000) // what is more urgent goes before all previews
	s.Close(sheet)
	write(9000) // a preview goes before any refinement
	s.Close(large)
	write(3000)

	// Output:
	// 160 bytes of the large picture
	// 2000 bytes of the small picture
	// 8000 bytes of the style sheet
	// 9000 bytes of the large picture
	// 3000 bytes of the small picture
}

// What a client asks for, what a server says of its answer, and what follows.
func ExampleMerge() {
	client := priority.ParseField("u=2, i")
	server := priority.ParseField("u=5")
	fmt.Printf("%+v\n", priority.Merge(client, server))
	fmt.Printf("%+v\n", priority.Merge(priority.ParseField("u=eleven"), priority.NoWish()))
	// Output:
	// {Urgency:5 Incremental:true Weight:16}
	// {Urgency:3 Incremental:false Weight:16}
}

// How urgent the phases of a picture are that was asked for with u=2.
func ExampleEffective() {
	for _, phase := range []priority.Phase{priority.Header, priority.Preview, priority.Good, priority.Rest} {
		fmt.Println(phase, priority.Effective(2, phase))
	}
	// Output:
	// header 1
	// preview 2
	// good 4
	// rest 4
}
