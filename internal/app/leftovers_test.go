package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/app"
)

// openAt counts this process's descriptors of path.
func openAt(t *testing.T, path string) int {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == path {
			count++
		}
	}
	return count
}

// tidies tells whether a goroutine gives the decoders' memory back.
func tidies() bool {
	stacks := make([]byte, 1<<20)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "transform.(*Service).Run(")
}

func TestNothingIsLeftAfterTheEnd(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, func(c *app.Config) { c.SourceRoot = root })
	for deadline := time.Now().Add(limit); !tidies() && time.Now().Before(deadline); {
		runtime.Gosched() // its goroutine has been made, but may not run yet
	}
	if openAt(t, root) == 0 || !tidies() {
		t.Errorf("while it serves: %d descriptors of the root, memory is given back: %t", openAt(t, root), tidies())
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	if n := openAt(t, root); n != 0 || tidies() {
		t.Errorf("after the end: %d descriptors of the root, memory is given back: %t", n, tidies())
	}
}

// Originals are kept for the next request as long as the service runs, which
// is no leak, and must not look like one.
func TestTheLastWordIsOfWhatWasLost(t *testing.T) {
	p := start(t, func(*app.Config) {})
	if status := get(t, "http://"+p.address+"/assets/a.jpg?sizes=10x0"); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	if n := <-p.spools; n != 0 {
		t.Errorf("%d spools are said to be open", n)
	}
}
