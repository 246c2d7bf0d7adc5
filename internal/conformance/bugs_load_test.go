package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/testpictures"
)

func TestBugReport15_TemporarySpaceIsBoundedAndGivenBack(t *testing.T) {
	root := t.TempDir()
	photo := testpictures.Photo(2400, 1800)
	put(t, root, "photo.jpg", testpictures.JPEG(photo, 90))
	put(t, root, "cut.png", testpictures.Truncate(testpictures.PNGOf(photo, 8, testpictures.PNGRGB, false), 0.7))
	// Next to no memory for spools: everything goes through the disk.
	s := start(t, withRoot(root), func(c *app.Config) { c.SpoolMemory, c.CacheMemory, c.SourceCacheMemory = 1<<20, 0, 0 })
	for i := range 3 {
		s.good(t, fmt.Sprintf("/assets/photo.jpg?format=png&effort=0&crop=0,0,%d,1800", 2300+i))
		if got := s.get(t, fmt.Sprintf("/assets/cut.png?format=png&effort=0&sizes=%dx0", 2000+i)); got.status < 400 || got.status >= 500 {
			t.Errorf("a truncated PNG answers %d", got.status)
		}
		s.abandon(t, fmt.Sprintf("/assets/photo.jpg?format=png&effort=0&crop=0,0,%d,1800", 2200+i), 50_000)
	}
	s.leavesNothing(t)
	if disk := s.metric(t, `spillway_spool_bytes{place="disk"}`); disk != 0 {
		t.Errorf("%.0f bytes on disk are still counted", disk)
	}
	s.isWell(t)
}

// abandon asks for a picture, reads n bytes of it and goes away.
func (s *server) abandon(t testing.TB, target string, n int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.CopyN(io.Discard, resp.Body, n); err != nil && !errors.Is(err, io.EOF) {
		t.Errorf("%s: %v", target, err)
	}
}

// TestBugReport16 compares resident memory over two rounds of the same mixed
// load: what the first round needs is paid for, a second one must not add.
func TestBugReport16_MemoryReachesAPlateau(t *testing.T) {
	s := start(t, withRoot(mixedRoot(t)), func(c *app.Config) { c.CacheMemory = 8 << 20 })
	round := func(n int) int64 {
		for i := range n {
			for _, target := range mixedTargets(i) {
				if got := s.get(t, target); got.status >= 500 {
					t.Errorf("%s: status %d", got.url, got.status)
				}
			}
		}
		return statusBytes("VmRSS")
	}
	warm := round(8)
	later := round(16)
	t.Logf("summary: memory after 8 rounds of mixed load %d MiB, after 24 %d MiB", warm>>20, later>>20)
	if grown := later - warm; grown > 96<<20 {
		t.Errorf("resident memory grew from %d to %d MiB under steady load", warm>>20, later>>20)
	}
}

func TestBugReport17_HealthNeverWaitsBehindWork(t *testing.T) {
	root := t.TempDir()
	put(t, root, "photo.jpg", testpictures.JPEG(testpictures.Photo(1600, 1200), 90))
	s := start(t, withRoot(root), func(c *app.Config) {
		c.Jobs, c.Queue, c.CacheMemory, c.QueueWait = 1, 2, 0, 20*time.Second
	})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var busy sync.WaitGroup
	refusals := make(chan answer, 64)
	for i := range 24 {
		busy.Go(func() { s.hammer(ctx, i, refusals) })
	}
	eventually(t, 10*time.Second, func() string {
		if n := s.metric(t, "spillway_jobs_waiting"); n < 2 {
			return fmt.Sprintf("%.0f requests wait", n)
		}
		return ""
	})
	for range 20 {
		for _, address := range []string{s.url + "/healthz", s.admin + "/healthz", s.admin + "/metrics", s.url + "/assets/photo.jpg?sizes=nonsense"} {
			if got := s.ask(t, http.MethodGet, address); got.took > time.Second || got.status >= 500 {
				t.Errorf("%s answers %d after %s while the queue is full", address, got.status, got.took)
			}
		}
		if waiting := s.metric(t, "spillway_jobs_waiting"); waiting > 2 {
			t.Errorf("%.0f requests wait, 2 are allowed", waiting)
		}
	}
	select {
	case got := <-refusals:
		seconds, err := strconv.Atoi(got.header.Get("Retry-After"))
		if (got.status != http.StatusServiceUnavailable && got.status != http.StatusTooManyRequests) || err != nil || seconds < 1 || got.took > 2*time.Second {
			t.Errorf("a full queue answers %d after %s with Retry-After %q", got.status, got.took, got.header.Get("Retry-After"))
		}
		got.isProblem(t)
	case <-time.After(10 * time.Second):
		t.Error("24 clients and a queue of 2, and nobody was refused")
	}
	leave()
	busy.Wait()
	// Nobody waits any more, so the queue and the permit must be free at once.
	eventually(t, 2*time.Second, func() string {
		waiting, running := s.metric(t, "spillway_jobs_waiting"), s.metric(t, "spillway_jobs_in_flight")
		if waiting+running > 0 {
			return fmt.Sprintf("%.0f abandoned requests wait, %.0f are worked on", waiting, running)
		}
		return ""
	})
	s.leavesNothing(t)
	s.isWell(t)
}

// hammer asks for costly pictures until ctx ends and hands on refusals.
func (s *server) hammer(ctx context.Context, client int, refusals chan<- answer) {
	for n := 0; ctx.Err() == nil; n++ {
		target := fmt.Sprintf("%s/assets/photo.jpg?format=webp&effort=9&blur=%d&crop=0,0,1600,%d", s.url, 40+client, 1000+n%200)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
		if err != nil {
			return
		}
		began := time.Now()
		resp, err := s.client.Do(r)
		if err != nil {
			continue // cancelled
		}
		a := answer{url: target, status: resp.StatusCode, header: resp.Header, took: time.Since(began)}
		a.body, a.broken = io.ReadAll(resp.Body)
		resp.Body.Close()
		if a.status >= 400 {
			select {
			case refusals <- a:
			default:
			}
			// A client that heeds Retry-After, at a scale that suits a test.
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}
