package h2_test

import (
	"bytes"
	"errors"
	"fmt"
	"log" //nolint:depguard // http.Server logs with it
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/h2/priority"
	"github.com/spillway-media/spillway/internal/h2test"
)

// A site is a server behind net.Pipe, in a synctest bubble.
type site struct {
	t        *testing.T
	hs       *http.Server
	h2       *h2.Server
	listener *h2test.Listener
}

func serve(t *testing.T, cfg h2.Config, change func(*http.Server), handler http.HandlerFunc) *site {
	t.Helper()
	s := &site{t: t, hs: &http.Server{Handler: handler, ErrorLog: log.New(t.Output(), "", 0)}, listener: h2test.Listen()}
	if change != nil {
		change(s.hs)
	}
	server, err := h2.Configure(s.hs, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.h2 = server
	done := make(chan error, 1)
	go func() { done <- s.hs.Serve(s.listener) }()
	t.Cleanup(func() {
		_ = s.hs.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return s
}

func (s *site) dial(opts h2test.Options) *h2test.Client {
	s.t.Helper()
	conn, err := s.listener.Dial()
	if err != nil {
		s.t.Fatal(err)
	}
	c := h2test.Dial(s.t, conn, opts)
	synctest.Wait() // the server's first write is under way: what follows is chosen after it
	return c
}

// wide are windows as a browser has them: they hold nothing back.
func wide(c *h2test.Client) {
	c.Must(c.Framer.WriteWindowUpdate(0, 15<<20))
}

func wideSettings() []http2.Setting {
	return []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 6 << 20}}
}

// A picture's phases and their sizes; the letter is what its bytes are.
var picture = []struct {
	phase  priority.Phase
	letter string
	size   int
}{
	{priority.Header, "h", 160},
	{priority.Preview, "p", 4000},
	{priority.Good, "g", 12000},
	{priority.Rest, "r", 30000},
}

func writePicture(w http.ResponseWriter, _ *http.Request) {
	for _, part := range picture {
		if h2.SetPhase(w, part.phase, int64(part.size)) != nil {
			return
		}
		if _, err := w.Write(bytes.Repeat([]byte(part.letter), part.size)); err != nil {
			return
		}
	}
}

// data is the DATA frames that have come, those without bytes left out.
func data(c *h2test.Client) []h2test.Event {
	var frames []h2test.Event
	for _, e := range c.Events() {
		if e.Type == http2.FrameData && len(e.Data) > 0 {
			frames = append(frames, e)
		}
	}
	return frames
}

func TestAllHeadersLeaveBeforeAnyPreviewAndAllPreviewsBeforeAnyRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{}, nil, writePicture)
		c := s.dial(h2test.Options{Deaf: true, Settings: wideSettings()})
		wide(c)
		const pictures = 12
		for i := range pictures {
			// As Chromium asks: some pictures are in view, others are not yet.
			c.Must(c.Open(uint32(2*i+1), true, h2test.Get("/", "priority", fmt.Sprintf("u=%d, i", 2+i%2))...))
		}
		synctest.Wait() // every handler has written all that it may
		c.Listen()
		synctest.Wait()

		last := map[byte]int{}
		first := map[byte]int{}
		bytesOf := map[uint32]int{}
		for i, f := range data(c) {
			letter := f.Data[0]
			if strings.Trim(string(f.Data), string(letter)) != "" {
				t.Errorf("frame %d holds bytes of two phases", i)
			}
			if _, ok := first[letter]; !ok {
				first[letter] = i
			}
			last[letter] = i
			bytesOf[f.Stream] += len(f.Data)
		}
		for _, order := range []string{"hp", "pg", "gr"} {
			if before, after := order[0], order[1]; last[before] > first[after] {
				t.Errorf("the last %c is frame %d, the first %c is frame %d", before, last[before], after, first[after])
			}
		}
		if len(bytesOf) != pictures {
			t.Errorf("%d pictures came", len(bytesOf))
		}
		for id, n := range bytesOf {
			if n != 160+4000+12000+30000 {
				t.Errorf("stream %d: %d bytes", id, n)
			}
		}
	})
}

func TestPhasesThatAreIgnoredAreStillFrameBoundaries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{IgnorePhases: true}, nil, writePicture)
		c := s.dial(h2test.Options{Settings: wideSettings()})
		wide(c)
		c.Must(c.Open(1, true, h2test.Get("/")...))
		if r := c.Response(1); r.Status != "200" || len(r.Body) != 46160 {
			t.Errorf("got status %s and %d bytes", r.Status, len(r.Body))
		}
		for i, f := range data(c) {
			if strings.Trim(string(f.Data), string(f.Data[0])) != "" {
				t.Errorf("frame %d holds bytes of two phases", i)
			}
		}
	})
}

func TestAPreviewThatFitsARecordIsNotCutInTwo(t *testing.T) {
	for _, size := range []int{900, 7000, 9000, 16<<10 - 9} {
		t.Run(fmt.Sprintf("of %d bytes", size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, h2.Config{}, nil, func(w http.ResponseWriter, r *http.Request) {
					_ = h2.SetPhase(w, priority.Header, 160)
					_, _ = w.Write(make([]byte, 160))
					_ = h2.SetPhase(w, priority.Preview, int64(size))
					_, _ = w.Write(bytes.Repeat([]byte("p"), size))
					_ = h2.SetPhase(w, priority.Rest, 20_000)
					_, _ = w.Write(make([]byte, 20_000))
				})
				c := s.dial(h2test.Options{Deaf: true, Settings: wideSettings()})
				wide(c)
				const pictures = 40 // of which some would meet the end of a record
				for i := range pictures {
					c.Must(c.Open(uint32(2*i+1), true, h2test.Get("/", "priority", "u=2, i")...))
				}
				synctest.Wait()
				c.Listen()
				synctest.Wait()
				whole := 0
				for _, f := range data(c) {
					if f.Data[0] == 'p' && len(f.Data) == size {
						whole++
					}
				}
				if whole != pictures {
					t.Errorf("%d of %d previews came in one frame", whole, pictures)
				}
			})
		})
	}
}

// bulk writes a megabyte, or a few bytes at /small.
func bulk(w http.ResponseWriter, r *http.Request) {
	size := 1 << 20
	if r.URL.Path == "/small" {
		size = 100
	}
	_, _ = w.Write(bytes.Repeat([]byte("x"), size))
}

func TestWhatIsUrgentOvertakesWhatIsUnderWay(t *testing.T) {
	tests := []struct {
		name   string
		urgent func(c *h2test.Client)
	}{
		{"by its header field", func(c *h2test.Client) {
			c.Must(c.Open(5, true, h2test.Get("/small", "priority", "u=0")...))
		}},
		{"by a PRIORITY_UPDATE that comes before it", func(c *h2test.Client) {
			c.Must(c.Framer.WritePriorityUpdate(5, "u=0"))
			c.Must(c.Open(5, true, h2test.Get("/small")...))
		}},
		{"by a PRIORITY_UPDATE that comes after it", func(c *h2test.Client) {
			c.Must(c.Open(5, true, h2test.Get("/small", "priority", "u=7")...))
			c.Must(c.Framer.WritePriorityUpdate(5, "u=0"))
		}},
		{"by Chromium's chain", func(c *h2test.Client) {
			chain := func(id, on uint32, weight uint8, path string) {
				c.Must(c.Framer.WriteHeaders(http2.HeadersFrameParam{
					StreamID: id, BlockFragment: c.Block(h2test.Get(path)...), EndStream: true, EndHeaders: true,
					Priority: http2.PriorityParam{StreamDep: on, Exclusive: true, Weight: weight},
				}))
			}
			chain(5, 0, 146, "/small")
			c.Must(c.Framer.WritePriority(5, http2.PriorityParam{StreamDep: 0, Exclusive: true, Weight: 219}))
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, h2.Config{}, nil, bulk)
				c := s.dial(h2test.Options{Deaf: true, Settings: wideSettings()})
				wide(c)
				c.Must(c.Open(1, true, h2test.Get("/bulk")...))
				c.Must(c.Open(3, true, h2test.Get("/bulk")...))
				synctest.Wait()
				test.urgent(c)
				synctest.Wait()
				c.Listen()
				synctest.Wait()
				for i, f := range data(c) {
					if f.Stream == 5 {
						// Before it came the write that was under way had been
						// chosen: one record, and no more.
						if i > 1 {
							t.Errorf("%d frames of bulk left before it", i)
						}
						return
					}
				}
				t.Fatal("it did not come")
			})
		})
	}
}

func TestBehindAProxyNobodyOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{}, nil, bulk)
		c := s.dial(h2test.Options{Deaf: true, Settings: wideSettings()})
		wide(c)
		c.Must(c.Open(1, true, h2test.Get("/bulk", "via", "1.1 proxy")...))
		c.Must(c.Open(3, true, h2test.Get("/bulk", "priority", "u=0")...))
		synctest.Wait()
		for _, conn := range s.h2.Connections() {
			for _, st := range conn.Streams {
				if st.Urgency != priority.DefaultUrgency {
					t.Errorf("stream %d has urgency %d", st.ID, st.Urgency)
				}
			}
		}
	})
}

// RFC 9218, 2.1.1: whoever says that it does without RFC 7540's priorities is
// taken at its word, Chromium's chain included.
func TestAClientWithoutRFC7540IsHeardByItsFieldsOnly(t *testing.T) {
	for without, want := range map[uint32]uint8{0: 1, 1: priority.DefaultUrgency} {
		t.Run(fmt.Sprintf("SETTINGS_NO_RFC7540_PRIORITIES is %d", without), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, h2.Config{}, nil, bulk)
				settings := append(wideSettings(), http2.Setting{ID: http2.SettingNoRFC7540Priorities, Val: without})
				c := s.dial(h2test.Options{Settings: settings, Deaf: true})
				wide(c)
				c.Must(c.Framer.WriteHeaders(http2.HeadersFrameParam{
					StreamID: 1, BlockFragment: c.Block(h2test.Get("/bulk")...), EndStream: true, EndHeaders: true,
					Priority: http2.PriorityParam{Exclusive: true, Weight: 146},
				}))
				c.Must(c.Framer.WritePriority(1, http2.PriorityParam{Exclusive: true, Weight: 219}))
				synctest.Wait()
				if got := s.h2.Connections()[0].Streams[0].Urgency; got != want {
					t.Errorf("its urgency is %d, want %d", got, want)
				}
			})
		})
	}
}

func TestAPriorityInTwoLinesIsOneField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{}, nil, bulk)
		c := s.dial(h2test.Options{Settings: wideSettings(), Deaf: true})
		wide(c)
		c.Must(c.Open(1, true, h2test.Get("/bulk", "priority", "u=6", "priority", "i")...))
		synctest.Wait()
		for _, st := range s.h2.Connections()[0].Streams {
			if st.Urgency != 6 || !st.Incremental {
				t.Errorf("it has urgency %d, incremental: %v", st.Urgency, st.Incremental)
			}
		}
	})
}

func TestWindowOfAllStreamsIsChangedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{}, nil, bulk)
		c := s.dial(h2test.Options{Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}})
		wide(c)
		const streams = 100
		for i := range streams {
			c.Must(c.Open(uint32(2*i+1), true, h2test.Get("/bulk")...))
		}
		synctest.Wait()
		if n := len(data(c)); n != 0 {
			t.Fatalf("%d DATA frames came without a window", n)
		}
		window := func(n uint32) {
			c.Must(c.Framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: n}))
			synctest.Wait()
		}
		window(10)
		window(4) // below what was sent: windows are negative, which is allowed
		window(9)
		got := map[uint32]int{}
		for _, f := range data(c) {
			got[f.Stream] += len(f.Data)
		}
		for id, n := range got {
			if n != 10 {
				t.Errorf("stream %d: %d bytes", id, n)
			}
		}
		if len(got) != streams {
			t.Errorf("%d streams sent", len(got))
		}
		window(11)
		if n := len(data(c)); n != 2*streams {
			t.Errorf("%d DATA frames, want two of each stream", n)
		}
	})
}

func TestWindowsThatOverflow(t *testing.T) {
	tests := []struct {
		name string
		do   func(c *h2test.Client)
		want string
	}{
		{"of a stream end the stream", func(c *h2test.Client) {
			c.Must(c.Framer.WriteWindowUpdate(1, 1<<31-1))
		}, "RST_STREAM FLOW_CONTROL_ERROR"},
		{"of a stream by SETTINGS end the connection", func(c *h2test.Client) {
			c.Must(c.Framer.WriteWindowUpdate(1, 1<<31-1-65535))
			c.Must(c.Framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65536}))
		}, "GOAWAY FLOW_CONTROL_ERROR"},
		{"of the connection end the connection", func(c *h2test.Client) {
			c.Must(c.Framer.WriteWindowUpdate(0, 1<<31-1))
		}, "GOAWAY FLOW_CONTROL_ERROR"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, h2.Config{}, nil, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
				c := s.dial(h2test.Options{})
				c.Must(c.Open(1, true, h2test.Get("/")...))
				test.do(c)
				e := c.Until(test.want, func(e h2test.Event) bool {
					return e.Type == http2.FrameRSTStream || e.Type == http2.FrameGoAway
				})
				if got := fmt.Sprintf("%v %v", e.Type, e.Code); got != test.want {
					t.Errorf("got %s", got)
				}
			})
		})
	}
}

func TestConnectionWithoutWindowWaitsAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{}, nil, bulk)
		c := s.dial(h2test.Options{Settings: wideSettings()})
		c.Must(c.Open(1, true, h2test.Get("/bulk")...))
		<-time.After(10 * time.Second) // shorter than StallTimeout
		c.Must(c.Framer.WriteWindowUpdate(0, 2<<20))
		if r := c.Response(1); len(r.Body) != 1<<20 {
			t.Errorf("%d bytes came", len(r.Body))
		}
	})
}
