package interop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// load is what h2load counts.
type load struct {
	total, started, done, succeeded, failed, errored, timeout int
	status                                                    [4]int // 2xx to 5xx
	bytes                                                     int64  // of bodies
}

var (
	loadRequests = regexp.MustCompile(`(?m)^requests: (\d+) total, (\d+) started, (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout$`)
	loadStatus   = regexp.MustCompile(`(?m)^status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx$`)
	loadBytes    = regexp.MustCompile(`(?m)^traffic: .* \((\d+)\) data$`)
)

// h2load asks for the paths in turn.
func h2load(t *testing.T, s *server, paths []string, args ...string) load {
	t.Helper()
	var urls strings.Builder
	for _, path := range paths {
		urls.WriteString(s.at(path) + "\n")
	}
	file := filepath.Join(t.TempDir(), "urls")
	if err := os.WriteFile(file, []byte(urls.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return counted(t, mustRun(t, "h2load", append(args, "-i", file)...).out)
}

func counted(t *testing.T, out string) load {
	t.Helper()
	requests, status, bytes := loadRequests.FindStringSubmatch(out), loadStatus.FindStringSubmatch(out), loadBytes.FindStringSubmatch(out)
	if requests == nil || status == nil || bytes == nil {
		t.Fatalf("h2load gave no counts:\n%s", out)
	}
	var l load
	for i, to := range []*int{&l.total, &l.started, &l.done, &l.succeeded, &l.failed, &l.errored, &l.timeout} {
		*to = number(t, requests[i+1])
	}
	for i := range l.status {
		l.status[i] = number(t, status[i+1])
	}
	l.bytes = int64(number(t, bytes[1]))
	return l
}

// String is the count as h2load tells it.
func (l load) String() string {
	return fmt.Sprintf("%d requests, %d succeeded, %d failed, %d errored; %d 2xx, %d others; %d bytes of bodies",
		l.total, l.succeeded, l.failed, l.errored, l.status[0], l.status[1]+l.status[2]+l.status[3], l.bytes)
}

func TestH2load(t *testing.T) {
	const requests = 20_000 // a multiple of how many paths there are
	for _, at := range sites {
		t.Run(at.name, func(t *testing.T) {
			s := serve(t, at)
			paths := []string{"/healthz", picture(0, 64, "&format=webp"), picture(1, 320, "&format=webp"), picture(2, 640, "&format=webp")}
			// Made once, so that the rest is answered from memory.
			first := h2load(t, s, paths, "-n", "4", "-c", "1", "-m", "4")
			got := h2load(t, s, paths, "-n", fmt.Sprint(requests), "-c", "4", "-m", "100")
			want := load{total: requests, started: requests, done: requests, succeeded: requests, status: [4]int{requests}, bytes: first.bytes * requests / 4}
			if got != want {
				t.Errorf("it counted %v; want %v", got, want)
			}
			t.Logf("summary: h2load %s, 4 connections of 100 streams: %v", at.name, got)
		})
	}
}
