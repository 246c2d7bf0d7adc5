package conformance_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// TestASlowClientHoldsNoPermit lets a client take a large answer's first bytes
// and stop, on a server that works on one picture at a time.
func TestASlowClientHoldsNoPermit(t *testing.T) {
	s := start(t, withFile(t, "photo.jpg", testpictures.JPEG(testpictures.Photo(2400, 1800), 90)), func(c *app.Config) { c.Jobs = 1 })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/assets/photo.jpg?format=png&effort=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.CopyN(io.Discard, resp.Body, 1000); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.isWell(t)
	}
	eventually(t, 10*time.Second, func() string {
		if n := s.metric(t, "spillway_jobs_in_flight"); n != 0 {
			return fmt.Sprintf("%.0f permits are held while a client reads slowly", n)
		}
		return ""
	})
	rest, err := io.Copy(io.Discard, resp.Body)
	if err != nil || rest < 3_000_000 {
		t.Errorf("the slow client got %d more bytes (%v)", rest, err)
	}
}

// TestTimeLimitEndsTheWork gives costly transforms a fraction of the time they
// need, in every format: the client is told in time, and nothing goes on
// working for nobody.
func TestTimeLimitEndsTheWork(t *testing.T) {
	root := t.TempDir()
	put(t, root, "photo.jpg", testpictures.JPEG(testpictures.Photo(3000, 2200), 90))
	put(t, root, "anim.gif", benchGIF(600, 450, 80))
	const limit = 200 * time.Millisecond
	s := start(t, withRoot(root), func(c *app.Config) { c.TransformTimeout, c.Jobs = limit, 1 })
	for _, query := range []string{
		"photo.jpg?format=jpeg&blur=120", "photo.jpg?format=png&effort=9&rotate=90", "photo.jpg?format=webp&effort=9&quality=95",
		"photo.jpg?format=webp&lossless=true&effort=9", "photo.jpg?format=avif&effort=9", "photo.jpg?format=tiff&blur=60", "anim.gif?format=gif&effort=9", "anim.gif?format=webp&effort=9",
		"photo.jpg?format=jpeg&max_bytes=200000&blur=40", "photo.jpg?format=webp&trim=10&effort=9&sharpen=5",
	} {
		t.Run(query, func(t *testing.T) {
			got := s.get(t, "/assets/"+query)
			if got.status == http.StatusOK && got.broken == nil {
				t.Errorf("finished in %s, so the test asks for too little", got.took)
			} else if got.status != http.StatusOK && got.code() != "transform-timeout" {
				t.Errorf("status %d %s", got.status, got.excerpt())
			}
			if got.took > limit+3*time.Second {
				t.Errorf("the client was told after %s", got.took)
			}
			began := time.Now()
			eventually(t, 40*time.Second, func() string {
				if n := s.metric(t, "spillway_jobs_in_flight"); n != 0 {
					return "the work goes on"
				}
				return ""
			})
			t.Logf("told after %s, ended %s later", got.took.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
		})
	}
	s.leavesNothing(t)
}

// TestMemoryBudgetHolds sends more large pictures at once than the budget
// carries. All are answered or refused, and the process stays near it.
func TestMemoryBudgetHolds(t *testing.T) {
	const budget = 160 << 20
	root := t.TempDir()
	put(t, root, "photo.jpg", testpictures.JPEG(testpictures.Photo(4000, 3000), 85))
	s := start(t, withRoot(root), func(c *app.Config) {
		c.Jobs, c.CacheMemory, c.QueueWait = 8, 0, 60*time.Second
		if err := c.MemoryBudget.UnmarshalText([]byte("160MiB")); err != nil {
			t.Fatal(err)
		}
	})
	s.good(t, "/assets/photo.jpg?sizes=50x0&format=png")
	before := resetPeak(t)
	var clients sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for i := range 16 {
		clients.Go(func() {
			got := s.get(t, fmt.Sprintf("/assets/photo.jpg?format=jpeg&rotate=90&crop=0,0,%d,3000", 3900+i))
			mu.Lock()
			defer mu.Unlock()
			statuses[got.status]++
			if got.status == http.StatusOK && (got.broken != nil || !bytes.HasPrefix(got.body, []byte("\xff\xd8"))) {
				t.Errorf("a broken answer: %v", got.broken)
			}
		})
	}
	clients.Wait()
	grown := peak(t) - before
	t.Logf("summary: memory budget of %d MiB: 16 turns of 12 megapixels at once grew the process by %d MiB at most, answers %v", budget>>20, grown>>20, statuses)
	if statuses[http.StatusOK]+statuses[http.StatusServiceUnavailable] != 16 || statuses[http.StatusOK] == 0 {
		t.Errorf("answers by status: %v", statuses)
	}
	if grown > 2*budget {
		t.Errorf("the process grew by %d MiB under a budget of %d MiB", grown>>20, budget>>20)
	}
	s.leavesNothing(t)
}

// TestDamageInTheMiddleNeverLooksWhole changes bytes in the middle of a PNG,
// which its checksums tell, when the first lines are long on their way.
func TestDamageInTheMiddleNeverLooksWhole(t *testing.T) {
	file := testpictures.PNGOf(testpictures.Photo(1500, 1000), 8, testpictures.PNGRGB, false)
	for _, share := range []float64{0.2, 0.5, 0.8, 0.99} {
		damaged := bytes.Clone(file)
		at := int(float64(len(damaged)) * share)
		for i := range 64 {
			damaged[at+i] ^= 0xa5
		}
		s := start(t, withFile(t, "in.png", damaged))
		for _, query := range []string{"format=png&effort=0", "format=jpeg", "format=webp", "format=jpeg&sizes=1400x0", "format=png&sizes=90x0"} {
			got := s.get(t, "/assets/in.png?"+query)
			if got.status == http.StatusOK && got.broken == nil {
				t.Errorf("damage at %.0f %%, %s: a whole answer of %d bytes", 100*share, query, len(got.body))
			} else if got.status != http.StatusOK && got.code() != "decode-failed" {
				t.Errorf("damage at %.0f %%, %s: status %d %s", 100*share, query, got.status, got.excerpt())
			}
			if again := s.get(t, "/assets/in.png?"+query); again.status == http.StatusOK && again.broken == nil {
				t.Errorf("damage at %.0f %%, %s: asked again, a whole answer of %d bytes", 100*share, query, len(again.body))
			}
		}
		s.leavesNothing(t)
	}
}
