package originals_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/originals"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
)

// site is a web server with one picture.
type site struct {
	version     atomic.Int64
	broken, cut atomic.Bool
	mu          sync.Mutex
	answers     map[int]int // by status
}

func (s *site) picture() string {
	return strings.Repeat(fmt.Sprintf("version %d ", s.version.Load()), 10_000)
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status := http.StatusOK
	tag := fmt.Sprintf("%q", fmt.Sprint(s.version.Load()))
	switch {
	case s.broken.Load():
		status = http.StatusServiceUnavailable
	case r.Header.Get("If-None-Match") == tag:
		status = http.StatusNotModified
	}
	s.mu.Lock()
	s.answers[status]++
	s.mu.Unlock()
	w.Header().Set("ETag", tag)
	if status != http.StatusOK {
		w.WriteHeader(status)
		return
	}
	data := s.picture()
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	if s.cut.Load() {
		data = data[:len(data)/2]
	}
	_, _ = w.Write([]byte(data))
}

// answered gives what was answered since the last time.
func (s *site) answered() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := fmt.Sprint(s.answers)
	s.answers = map[int]int{}
	return got
}

// TestAWebServer plays one original's life against the real opener.
func TestAWebServer(t *testing.T) {
	web := &site{answers: map[int]int{}}
	server := httptest.NewServer(web)
	defer server.Close()
	log := slog.New(slog.DiscardHandler)
	router, err := source.New(t.Context(), source.Config{Allow: []string{"*", server.Listener.Addr().String()}, AllowPrivate: true, Retries: -1, NoBreaker: true}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer router.Close()
	pool, err := spool.NewPool(spool.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	disk := newDisk(t)
	store, err := originals.New(originals.Config{Memory: 4 << 20, IfError: time.Hour}, router, pool, disk, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- store.Run(ctx) }()
	get := func() (string, bool, error) {
		o, err := store.Open(t.Context(), server.URL+"/picture.jpg?secret=1")
		if err != nil {
			return "", false, err
		}
		defer o.Close()
		err = o.Load(t.Context())
		return string(o.Bytes()), o.Stale(), err
	}
	expect := func(step, answers string, stale bool, want string) {
		t.Helper()
		got, old, err := get()
		if err != nil || old != stale || got != want {
			t.Errorf("%s: %d bytes, stale %t, %v", step, len(got), old, err)
		}
		if asked := web.answered(); asked != answers {
			t.Errorf("%s: the server answered %s, want %s", step, asked, answers)
		}
	}
	first := web.picture()
	web.cut.Store(true)
	if got, _, err := get(); got != "" || !source.Unavailable(err) {
		t.Errorf("a cut picture gives %d bytes and %v", len(got), err)
	}
	if st := store.Stats(); st.KeptBodies != 0 || st.Disk.Entries != 0 {
		t.Errorf("a cut picture is kept: %+v", st)
	}
	web.cut.Store(false)
	web.answered()
	expect("first", "map[200:1 304:1]", false, first)
	expect("again", "map[304:1]", false, first)
	web.broken.Store(true)
	expect("in trouble", "map[503:1]", true, first)
	web.broken.Store(false)
	web.version.Add(1)
	store.Purge("")
	web.answered()
	expect("changed and purged", "map[200:1]", false, web.picture())
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if st := pool.Stats(); st.Open != 0 {
		t.Errorf("%d spools are left", st.Open)
	}
	if st := router.Stats(); st.Open != 0 {
		t.Errorf("%d bodies are left open", st.Open)
	}
}
