package h2_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/internal/h2test"
)

const noRFC7540 = http2.SettingNoRFC7540Priorities

// chained opens a request as Chromium does, with its weight less one.
func chained(c *h2test.Client, id, on uint32, weight uint8) {
	c.Must(c.Framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: c.Block(h2test.Get("/bulk")...), EndStream: true, EndHeaders: true,
		Priority: http2.PriorityParam{StreamDep: on, Exclusive: true, Weight: weight},
	}))
}

// urgencies are those of the open streams of the only connection.
func (s *site) urgencies() map[uint32]uint8 {
	of := map[uint32]uint8{}
	for _, st := range s.h2.Connections()[0].Streams {
		of[st.ID] = st.Urgency
	}
	return of
}

// RFC 9218, 2.1: the setting stands in the first SETTINGS, is 0 or 1, and stays.
func TestNoRFC7540PrioritiesIsSaidOnceForAll(t *testing.T) {
	say := func(values ...uint32) (settings []http2.Setting) {
		for _, v := range values {
			settings = append(settings, http2.Setting{ID: noRFC7540, Val: v})
		}
		return settings
	}
	for _, test := range []struct {
		name         string
		first, later []http2.Setting
		ends         bool
	}{
		{"it is 0 and said again", say(0), say(0), false},
		{"it is 1 and said again", say(1), say(1), false},
		{"it is not said again", say(1), nil, false},
		{"the last of a frame counts", say(0, 1), say(1), false},
		{"its default is said later", nil, say(0), false},
		{"it is 2", say(2), nil, true},
		{"it becomes 2", say(0), say(2), true},
		{"it changes to 0", say(1), say(0), true},
		{"it changes to 1", say(0), say(1), true},
		{"it comes late", nil, say(1), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			attack(t, h2.Config{}, hello, func(t *testing.T, x *target) {
				c := x.client(h2test.Options{Settings: test.first})
				if !test.ends || len(test.later) > 0 {
					c.Must(c.Framer.WriteSettings(test.later...))
				}
				if test.ends {
					if e := c.GoAway(); e.Code != http2.ErrCodeProtocol {
						t.Errorf("ended with %v", e.Code)
					}
					return
				}
				c.Must(c.Open(1, true, h2test.Get("/")...))
				if r := c.Response(1); r.Status != "200" {
					t.Errorf("status %q", r.Status)
				}
			})
		})
	}
}

// Ours is 0: a server that acts on PRIORITY frames must not say otherwise.
func TestOurSettingsSayThatPriorityFramesCount(t *testing.T) {
	attack(t, h2.Config{}, hello, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{})
		first := c.Until("SETTINGS", func(e h2test.Event) bool { return e.Type == http2.FrameSettings })
		if !slices.Contains(first.Settings, http2.Setting{ID: noRFC7540, Val: 0}) {
			t.Errorf("the first SETTINGS are %v", first.Settings)
		}
	})
}

// A connection turns out to be a proxy's with any of its requests; those that
// came before are of people who know nothing of each other, too.
func TestWishesAreLeftAsideOnceAProxyShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{}, nil, bulk)
		c := s.dial(h2test.Options{Deaf: true, Settings: wideSettings()})
		c.Must(c.Open(1, true, h2test.Get("/bulk", "priority", "u=0")...))
		synctest.Wait()
		if of := s.urgencies(); of[1] != 0 {
			t.Errorf("before: %v", of)
		}
		c.Must(c.Open(3, true, h2test.Get("/bulk", "priority", "u=6", "forwarded", "for=192.0.2.1")...))
		synctest.Wait()
		if of := s.urgencies(); of[1] != 3 || of[3] != 3 {
			t.Errorf("behind a proxy: %v", of)
		}
	})
}

// Chromium may hang a request on one that was refused while it was under way.
func TestRequestsThatAreRefusedAreLinksOfTheChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{MaxConcurrentStreams: 2}, nil, bulk)
		c := s.dial(h2test.Options{Settings: wideSettings()})
		chained(c, 1, 0, 146)
		chained(c, 3, 1, 146)
		chained(c, 5, 3, 146)
		c.Until("a refusal", func(e h2test.Event) bool { return e.Stream == 5 && e.Code == http2.ErrCodeRefusedStream })
		c.Must(c.Framer.WriteRSTStream(3, http2.ErrCodeCancel))
		chained(c, 7, 5, 219)
		synctest.Wait()
		if of := s.urgencies(); of[7] != 1 {
			t.Errorf("urgencies are %v", of)
		}
	})
}

func TestWishesForRequestsToComeAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{}, nil, bulk)
		c := s.dial(h2test.Options{Settings: wideSettings()})
		id := func(i int) uint32 { return uint32(2*i + 1) }
		for i := range 40 {
			c.Must(c.Framer.WritePriorityUpdate(id(i), "u=0"))
		}
		c.Must(c.Framer.WritePriorityUpdate(id(31), "u=1")) // the newest of those that are kept
		for i := range 40 {
			c.Must(c.Open(id(i), true, h2test.Get("/bulk", "priority", "u=6")...))
		}
		synctest.Wait()
		of := s.urgencies()
		for i := range 40 {
			want := uint8(0)
			switch {
			case i == 31:
				want = 1
			case i > 31:
				want = 6
			}
			if of[id(i)] != want {
				t.Errorf("request %d has urgency %d, want %d", i, of[id(i)], want)
			}
		}
	})
}
