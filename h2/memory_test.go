package h2_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/internal/h2test"
)

// What a client can fill is filled, all at once, by several connections: header
// lists, bodies that nobody reads, answers that it does not take, a header
// block that does not end, control frames, priorities of streams to come.
func TestMemoryOfAConnectionIsBounded(t *testing.T) {
	var cfg h2.Config
	bound := cfg.ConnMemory()
	for name, header := range map[string]func(c *h2test.Client, i int) []string{
		"few long fields": func(_ *h2test.Client, i int) []string {
			return []string{"a", fmt.Sprint(i, strings.Repeat("v", 16_000))}
		},
		"many short fields": func(_ *h2test.Client, i int) (pairs []string) {
			for n := range 120 {
				pairs = append(pairs, fmt.Sprintf("x%d-%d", i, n), "")
			}
			return pairs
		},
		"crumbs that are joined": func(_ *h2test.Client, i int) (pairs []string) {
			for range 5 {
				pairs = append(pairs, "cookie", strings.Repeat("v", 3_000))
			}
			return pairs
		},
		"paths that are kept in two forms": func(_ *h2test.Client, i int) []string {
			return []string{":path", fmt.Sprint("/", i, "%41", strings.Repeat("p", 15_500))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			const connections = 4
			synctest.Test(t, func(t *testing.T) {
				x := newTarget(t, &http.Server{}, cfg, endlessPieces)
				x.serve(t)
				before := heap()
				for range connections {
					fill(t, x, header)
				}
				each := (heap() - before) / connections
				t.Logf("a connection holds %d KiB, the bound is %d KiB", each>>10, bound>>10)
				if each > bound {
					t.Errorf("a connection holds %d bytes, more than the %d that are stated", each, bound)
				}
				if each < bound/4 {
					t.Errorf("a connection holds %d bytes of %d: this test fills nothing, or the bound says nothing", each, bound)
				}
			})
		})
	}
}

// endlessPieces answers in pieces that leave the most of a chunk empty.
func endlessPieces(w http.ResponseWriter, _ *http.Request) {
	piece := make([]byte, 5000)
	for {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

// A connection that does nothing costs little: tens of thousands fit.
func TestIdleConnectionsAreSmall(t *testing.T) {
	const connections, most = 100, 50 << 10
	synctest.Test(t, func(t *testing.T) {
		x := newTarget(t, &http.Server{}, h2.Config{}, hello)
		x.serve(t)
		before := heap()
		for range connections {
			x.client(h2test.Options{})
		}
		each := (heap() - before) / connections
		t.Logf("an idle connection holds %d KiB with its client", each>>10)
		if each > most {
			t.Errorf("an idle connection holds %d bytes with its client, want at most %d", each, most)
		}
	})
}

// heap is what is in use after a collection, with the stacks of goroutines.
func heap() int64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// fill opens a connection and leaves it as full as it can be.
func fill(t *testing.T, x *target, header func(c *h2test.Client, i int) []string) {
	t.Helper()
	had := x.running.Load()
	c := x.client(h2test.Options{DropBodies: true, Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}})
	const streams = 250
	body := make([]byte, 4100) // leaves the most of a chunk empty
	for i := range streams {
		id := uint32(2*i + 1)
		fields := h2test.Post("/", header(c, i)...)
		if fields[8] == ":path" {
			fields = append(fields[:6], fields[8:]...)
		}
		c.Must(sendOpen(c, id, c.Block(fields...)))
		c.Must(c.Framer.WriteData(id, false, body))
	}
	for i := range 5000 {
		c.Must(c.Framer.WritePriorityUpdate(uint32(2*i+601), "u=7, i"))
	}
	// A block of nearly twice what is allowed, without its end.
	c.Must(c.Framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 599, BlockFragment: c.Block(h2test.Get("/")...)}))
	long := c.Block("long", strings.Repeat("^", 64_000)) // takes more than that as Huffman codes
	for range 6 {
		n := min(16<<10, len(long))
		c.Must(c.Framer.WriteContinuation(599, false, long[:n]))
		long = long[n:]
	}
	synctest.Wait() // the handlers have filled their buffers
	if n := x.running.Load() - had; n < 240 {
		t.Fatalf("%d handlers run, want about %d", n, streams)
	}
}

// sendOpen sends a header block whose request has a body.
func sendOpen(c *h2test.Client, id uint32, block []byte) error {
	first := block[:min(16<<10, len(block))]
	block = block[len(first):]
	err := c.Framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndHeaders: len(block) == 0})
	for len(block) > 0 && err == nil {
		next := block[:min(16<<10, len(block))]
		block = block[len(next):]
		err = c.Framer.WriteContinuation(id, len(block) == 0, next)
	}
	return err
}
