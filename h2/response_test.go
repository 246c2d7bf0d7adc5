package h2_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/h2/priority"
	"github.com/spillway-media/spillway/internal/h2test"
)

// ours serves a handler by this package alone, for what net/http has no equal of.
func ours(t *testing.T, cfg h2.Config, handler http.HandlerFunc) *peer {
	t.Helper()
	conn := connect(t, &http.Server{Handler: handler}, false, func(hs *http.Server) {
		if _, err := h2.Configure(hs, cfg); err != nil {
			t.Fatal(err)
		}
	})
	return &peer{Client: h2test.Dial(t, conn, h2test.Options{}), t: t, scheme: "http"}
}

// net/http panics here, in a goroutine where nobody recovers, and lets the race
// detector find a race.
func TestAWriterThatOutlivesItsHandlerGetsErrors(t *testing.T) {
	t.Parallel()
	late := make(chan string)
	p := ours(t, h2.Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			fmt.Fprint(w, "second")
			return
		}
		ctx, c := r.Context(), http.NewResponseController(w)
		go func() {
			<-ctx.Done()
			w.WriteHeader(http.StatusTeapot)
			_, err := w.Write([]byte("late"))
			late <- fmt.Sprint(err != nil, c.Flush() != nil, h2.SetPhase(w, priority.Rest, 1) != nil,
				c.SetReadDeadline(time.Time{}) != nil, c.SetWriteDeadline(time.Time{}) != nil)
		}()
		fmt.Fprint(w, "first")
	})
	p.get()
	if got := <-late; got != "true true true true true" {
		t.Errorf("errors of write, flush, phase and deadlines: %s", got)
	}
	p.ask(3, true, "GET", "/next")
	first, second := p.Response(1), p.Response(3)
	if string(first.Body) != "first" || string(second.Body) != "second" {
		t.Errorf("bodies %q and %q", first.Body, second.Body)
	}
}

func TestAHandlerThatEndsItsGoroutineLeavesItsPlace(t *testing.T) {
	t.Parallel()
	p := ours(t, h2.Config{MaxConcurrentStreams: 1}, func(http.ResponseWriter, *http.Request) { runtime.Goexit() })
	for stream := uint32(1); stream < 9; stream += 2 {
		p.ask(stream, true, "GET", "/")
		if r := p.Response(stream); r.Reset != http2.ErrCodeInternal {
			t.Fatalf("stream %d: %+v", stream, r)
		}
	}
}

func TestPhasesCutFrames(t *testing.T) {
	t.Parallel()
	p := ours(t, h2.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		for _, part := range []struct {
			phase priority.Phase
			text  string
		}{{priority.Header, "head"}, {priority.Preview, strings.Repeat("p", 5000)}, {priority.Rest, "rest"}} {
			if err := h2.SetPhase(w, part.phase, int64(len(part.text))); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(w, part.text)
		}
	})
	p.get()
	var sizes []int
	for _, e := range p.Events() {
		if e.Type == http2.FrameData && e.Length > 0 {
			sizes = append(sizes, e.Length)
		}
	}
	at := 0
	bounds := map[int]bool{0: true}
	for _, n := range sizes {
		at += n
		bounds[at] = true
	}
	if !bounds[4] || !bounds[5004] || at != 5008 {
		t.Errorf("frames of %v bytes do not end where phases do", sizes)
	}
}

// Handlers are not the writer's: what they get wrong may not end the process.
func TestAPhaseThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	p := ours(t, h2.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, h2.SetPhase(w, priority.Rest+1, 4))
	})
	p.get()
	if r := p.Response(1); string(r.Body) != "h2: mark a phase: there is no phase 5" {
		t.Errorf("it was answered %q", r.Body)
	}
}

func TestASetCookieEntersNoTable(t *testing.T) {
	t.Parallel()
	p := ours(t, h2.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "session=secret")
		w.Header().Set("Content-Type", "text/plain")
	})
	p.get()
	for _, f := range p.Response(1).Headers.Fields {
		if want := f.Name == "set-cookie"; f.Sensitive != want {
			t.Errorf("%s: never indexed %v, want %v", f.Name, f.Sensitive, want)
		}
	}
}
