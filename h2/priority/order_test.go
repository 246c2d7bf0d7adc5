package priority_test

import (
	"slices"
	"testing"

	"github.com/spillway-media/spillway/h2/priority"
)

// response is a stream with what it still has to send, phase by phase.
type response struct {
	priority.Stream
	parts []part
}

type part struct {
	phase priority.Phase
	size  int64
}

// page sends responses through a scheduler, a frame at a time.
type page struct {
	scheduler *priority.Scheduler
	sent      []sent
}

type sent struct {
	id    uint32
	phase priority.Phase
	n     int64
}

func newPage(o priority.Options) *page { return &page{scheduler: priority.New(o)} }

func (p *page) open(id uint32, params priority.Params, parts ...part) *response {
	r := &response{Stream: priority.Stream{ID: id}, parts: parts}
	r.Owner = r
	p.scheduler.Open(&r.Stream, params)
	p.scheduler.Mark(&r.Stream, parts[0].phase, parts[0].size)
	p.scheduler.SetReady(&r.Stream, true)
	return r
}

// step sends one frame, cut at the end of its phase, and reports whether any was.
func (p *page) step() bool {
	st, ok := p.scheduler.Pick()
	if !ok {
		return false
	}
	r := st.Owner.(*response)
	now := &r.parts[0]
	n := min(now.size, int64(p.scheduler.Limit()))
	p.sent = append(p.sent, sent{st.ID, now.phase, n})
	p.scheduler.Sent(st, int(n))
	now.size -= n
	if now.size > 0 {
		return true
	}
	if r.parts = r.parts[1:]; len(r.parts) == 0 {
		p.scheduler.Close(st)
		return true
	}
	p.scheduler.Mark(st, r.parts[0].phase, r.parts[0].size)
	return true
}

func (p *page) run() []sent {
	for p.step() {
	}
	return p.sent
}

// ids are the streams in the order of their frames, each once for all frames
// that follow each other.
func (p *page) ids() []uint32 {
	var ids []uint32
	for _, s := range p.run() {
		ids = append(ids, s.id)
	}
	return slices.Compact(ids)
}

const kb = 1 << 10

func picture(scale int64) []part {
	return []part{{priority.Header, 160}, {priority.Preview, scale}, {priority.Good, 4 * scale}, {priority.Rest, 5 * scale}}
}

func image(urgency uint8) priority.Params {
	return priority.Params{Urgency: urgency, Incremental: true}
}

func TestAllHeadersThenAllPreviewsThenAllGoodThenTheRest(t *testing.T) {
	p := newPage(priority.Options{Floor: 1 << 20})
	for i := range uint32(10) {
		p.open(2*i+1, image(2+uint8(i%2)), picture(int64(i+1)*kb)...)
	}
	var last priority.Phase
	for _, s := range p.run() {
		if s.phase < last {
			t.Fatalf("phase %d of stream %d comes after phase %d", s.phase, s.id, last)
		}
		last = s.phase
	}
}

func TestOrder(t *testing.T) {
	body := func(size int64) part { return part{priority.Body, size} }
	wait := priority.Params{Urgency: 3} // not incremental
	type opening struct {
		id     uint32
		params priority.Params
		parts  []part
	}
	for name, c := range map[string]struct {
		options priority.Options
		streams []opening
		want    []uint32
	}{
		"the more urgent goes first": {
			streams: []opening{{1, image(5), []part{body(40 * kb)}}, {3, image(0), []part{body(40 * kb)}}},
			want:    []uint32{3, 1},
		},
		"what is not incremental goes one after another": {
			streams: []opening{{5, wait, []part{body(40 * kb)}}, {1, wait, []part{body(40 * kb)}}, {3, wait, []part{body(40 * kb)}}},
			want:    []uint32{1, 3, 5},
		},
		"what is incremental is interleaved": {
			streams: []opening{{1, image(3), []part{body(2 * priority.Frame)}}, {3, image(3), []part{body(2 * priority.Frame)}}},
			want:    []uint32{1, 3, 1, 3},
		},
		"both kinds get half": {
			streams: []opening{
				{1, wait, []part{body(2 * priority.Frame)}}, {3, image(3), []part{body(2 * priority.Frame)}},
				{5, wait, []part{body(2 * priority.Frame)}}, {7, image(3), []part{body(2 * priority.Frame)}},
			},
			want: []uint32{1, 3, 1, 7, 5, 3, 5, 7},
		},
		"of one phase the shortest goes first, and to its end": {
			streams: []opening{{1, image(3), []part{{priority.Preview, 30 * kb}}}, {3, image(3), []part{{priority.Preview, 20 * kb}}}, {5, image(3), []part{{priority.Preview, 40 * kb}}}},
			want:    []uint32{3, 1, 5},
		},
		"of one phase all take turns, if that is wanted": {
			options: priority.Options{Fair: true},
			streams: []opening{{1, image(3), []part{{priority.Preview, 2 * priority.Frame}}}, {3, image(3), []part{{priority.Preview, 2 * priority.Frame}}}},
			want:    []uint32{1, 3, 1, 3},
		},
		"a header of a picture goes before a script that is not urgent": {
			streams: []opening{{1, image(2), []part{body(20 * kb)}}, {3, image(5), []part{{priority.Header, 160}}}},
			want:    []uint32{3, 1},
		},
		"but not before the page": {
			streams: []opening{{1, image(3), []part{{priority.Header, 160}}}, {3, image(0), []part{body(40 * kb)}}},
			want:    []uint32{3, 1},
		},
		"what is good of an urgent picture waits for the preview of another": {
			streams: []opening{{1, image(1), []part{{priority.Good, 20 * kb}}}, {3, image(4), []part{{priority.Preview, 50 * kb}}}},
			want:    []uint32{3, 1},
		},
		"the rest of an urgent picture waits for what is less urgent than it": {
			streams: []opening{{1, image(0), []part{{priority.Rest, 20 * kb}}}, {3, image(3), []part{body(50 * kb)}}},
			want:    []uint32{3, 1},
		},
		"of equal urgency a body goes before what is good of a picture": {
			streams: []opening{{1, image(3), []part{{priority.Good, 20 * kb}}}, {3, image(4), []part{body(50 * kb)}}},
			want:    []uint32{3, 1},
		},
		"of one phase the picture in view goes first, however large": {
			streams: []opening{
				{1, image(3), []part{{priority.Good, 20 * kb}}}, {3, image(2), []part{{priority.Good, 18 * kb}}},
				{5, image(1), []part{{priority.Good, 40 * kb}}}, {7, image(0), []part{{priority.Good, 30 * kb}}},
			},
			want: []uint32{7, 5, 3, 1},
		},
		"and of what comes one after another, too": {
			streams: []opening{
				{1, wait, []part{{priority.Rest, 20 * kb}}}, {3, priority.Params{Urgency: 2}, []part{{priority.Rest, 20 * kb}}},
				{5, priority.Params{Urgency: 1}, []part{{priority.Rest, 20 * kb}}},
			},
			want: []uint32{5, 3, 1},
		},
		"phases can be left aside": {
			options: priority.Options{IgnorePhases: true},
			streams: []opening{{1, image(3), []part{{priority.Rest, 20 * kb}}}, {3, image(4), []part{{priority.Header, 160}}}},
			want:    []uint32{1, 3},
		},
		"an unknown size counts as 16 KiB at first": {
			streams: []opening{{1, image(3), []part{{priority.Rest, 17 * kb}}}, {3, image(3), []part{{priority.Rest, 15 * kb}}}},
			want:    []uint32{3, 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPage(c.options)
			for _, s := range c.streams {
				p.open(s.id, s.params, s.parts...)
			}
			if got := p.ids(); !slices.Equal(got, c.want) {
				t.Errorf("in this order: %v, not %v", got, c.want)
			}
		})
	}
}

func TestAnUnknownSizeIsTakenForWhatHasGone(t *testing.T) {
	s := priority.New(priority.Options{})
	sizes := []int64{-1, 20 * kb, 40 * kb}
	streams := make([]priority.Stream, len(sizes))
	for i, size := range sizes {
		streams[i].ID = uint32(2*i + 1)
		s.Open(&streams[i], image(3))
		s.Mark(&streams[i], priority.Rest, size)
		s.SetReady(&streams[i], true)
	}
	pick := func(want uint32) {
		t.Helper()
		if st, _ := s.Pick(); st.ID != want {
			t.Fatalf("stream %d is next, not %d", st.ID, want)
		}
	}
	pick(1) // as if 16 KiB were to come
	s.Sent(&streams[0], 16*kb)
	pick(1) // the same
	s.Sent(&streams[0], 8*kb)
	pick(3) // 24 KiB have gone
	s.Close(&streams[1])
	pick(1)
	s.Sent(&streams[0], 20*kb)
	pick(5) // 44 KiB have gone
}

// A size that was too small is as one that was not known.
func TestAPhaseThatIsLongerThanWasSaidLosesItsPlace(t *testing.T) {
	s := priority.New(priority.Options{})
	var wrong, right priority.Stream
	wrong.ID, right.ID = 1, 3
	for _, st := range []*priority.Stream{&wrong, &right} {
		s.Open(st, image(3))
		s.Mark(st, priority.Rest, 10*kb)
		s.SetReady(st, true)
	}
	s.Sent(&wrong, 11*kb)
	if st, _ := s.Pick(); st != &right {
		t.Error("a wrong size is believed when it has been found out")
	}
}

func TestWhatIsSaidOfAStreamCountsAtOnce(t *testing.T) {
	s := priority.New(priority.Options{})
	var a, b priority.Stream
	a.ID, b.ID = 1, 3
	s.Open(&a, image(3))
	s.Open(&b, image(3))
	if _, ok := s.Pick(); ok || s.Len() != 2 || s.Ready() != 0 {
		t.Fatal("a stream is ready without having been said to be")
	}
	s.SetReady(&a, true)
	s.SetReady(&b, true)
	pick := func(when string, want *priority.Stream) {
		t.Helper()
		if st, _ := s.Pick(); st != want {
			t.Errorf("%s, stream %d is next", when, st.ID)
		}
	}
	s.Prioritize(&b, image(1))
	pick("when the other is more urgent", &b)
	s.SetReady(&b, false)
	pick("when the other is blocked", &a)
	s.SetReady(&b, true)
	pick("when it is not any more", &b)
	s.Mark(&b, priority.Rest, 100)
	pick("when the rest of it is to come", &a)
	s.Close(&a)
	pick("when the other is gone", &b)
	s.Close(&b)
	if _, ok := s.Pick(); ok || s.Len() != 0 || s.Ready() != 0 {
		t.Error("streams are left when all are closed")
	}
}

func TestWhatIsNotOpenIsLeftAlone(t *testing.T) {
	s := priority.New(priority.Options{})
	var st priority.Stream
	s.Close(&st)
	s.SetReady(&st, true)
	s.Prioritize(&st, image(0))
	s.Mark(&st, priority.Rest, 1)
	s.Sent(&st, 1)
	if _, ok := s.Pick(); ok || s.Len() != 0 || s.Ready() != 0 {
		t.Error("a stream that was never open is scheduled")
	}
	s.Open(&st, image(0))
	s.Open(&st, image(0))
	if s.Len() != 1 {
		t.Errorf("a stream that was opened twice is %d", s.Len())
	}
}
