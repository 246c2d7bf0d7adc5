package main_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/testpictures"
)

// process is one line of /proc/PID/stat (proc(5)).
type process struct {
	id, parent int
	state      string
	used       time.Duration // CPU, in ticks of 10 ms
}

func readProcess(file string) (process, bool) {
	stat, err := os.ReadFile(file)
	if err != nil {
		return process{}, false
	}
	id, rest, _ := strings.Cut(string(stat), " (")
	fields := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:])
	number := func(text string) int { n, _ := strconv.Atoi(text); return n }
	ticks := number(fields[11]) + number(fields[12])
	return process{number(id), number(fields[1]), fields[0], time.Duration(ticks) * 10 * time.Millisecond}, true
}

// helpersOf are the processes that a program has started and not buried.
func helpersOf(t *testing.T, program int) []process {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []process
	for _, file := range files {
		if p, ok := readProcess(file); ok && p.parent == program {
			found = append(found, p)
		}
	}
	return found
}

// waitUntil looks until something is so.
func waitUntil(t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); !so(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come about", what)
		}
	}
}

// startEncoding runs a server that has a helper busy with an AVIF which takes
// it many seconds: a search for a quality takes five encodes. leave makes the one client go away.
func startEncoding(t *testing.T, search string, args ...string) (s *server, helper process, leave context.CancelFunc, answered chan answer) {
	t.Helper()
	root := t.TempDir()
	put(t, root, "large.jpg", testpictures.JPEG(testpictures.Photo(4000, 3000), 80))
	s = start(t, nil, append([]string{"serve", "--listen", "127.0.0.1:0", "--source-root", root}, args...)...)
	ctx, leave := context.WithCancel(t.Context())
	answered = make(chan answer, 1)
	go func() {
		a, _ := fetch(ctx, s.url+"/assets/large.jpg?format=avif&effort=3"+search)
		answered <- a
	}()
	waitUntil(t, "a busy helper", func() bool {
		for _, helper = range helpersOf(t, s.command.Process.Pid) {
			if helper.used > 300*time.Millisecond {
				return true
			}
		}
		return false
	})
	return s, helper, leave, answered
}

func TestAClientThatLeavesEndsTheEncodeAndItsProcess(t *testing.T) {
	s, helper, leave, _ := startEncoding(t, "&max_bytes=4000")
	leave()
	id := s.command.Process.Pid
	waitUntil(t, "an end of the helper", func() bool { return len(helpersOf(t, id)) == 0 })
	before, _ := readProcess("/proc/" + strconv.Itoa(id) + "/stat")
	if a := get(t, s.url+"/healthz"); a.status != http.StatusOK {
		t.Errorf("healthz = %d after helper %d was ended", a.status, helper.id)
	}
	after, _ := readProcess("/proc/" + strconv.Itoa(id) + "/stat")
	if used := after.used - before.used; used > 100*time.Millisecond {
		t.Errorf("the server went on for %v", used)
	}
}

func TestADeadlineEndsTheEncodeAndItsProcess(t *testing.T) {
	s, _, _, answered := startEncoding(t, "&max_bytes=4000", "--transform-timeout", "3s")
	if a := <-answered; a.status != http.StatusUnprocessableEntity {
		t.Errorf("answered %d %.200q", a.status, a.body)
	}
	waitUntil(t, "an end of the helper", func() bool { return len(helpersOf(t, s.command.Process.Pid)) == 0 })
}

func TestHelpersFinishTheirWorkInADrain(t *testing.T) {
	s, helper, _, answered := startEncoding(t, "")
	s.signal(t, syscall.SIGTERM)
	// A service's own stop is sent to all of its processes.
	_ = syscall.Kill(helper.id, syscall.SIGTERM)
	if a := <-answered; a.status != http.StatusOK || !strings.Contains(string(a.body[:min(len(a.body), 32)]), "ftypavif") {
		t.Errorf("answered %d %.200q", a.status, a.body)
	}
	if code := s.exit(t); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	assertEnded(t, helper)
}

func TestNoHelperOutlivesItsServer(t *testing.T) {
	tests := map[string]struct {
		args   []string
		signal syscall.Signal
	}{
		"when a drain takes too long": {[]string{"--drain-timeout", "200ms"}, syscall.SIGTERM},
		"when it is killed":           {nil, syscall.SIGKILL},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, helper, _, _ := startEncoding(t, "&max_bytes=4000", test.args...)
			s.signal(t, test.signal)
			s.exit(t)
			assertEnded(t, helper)
		})
	}
}

// assertEnded waits until a process runs no more. It may lie there until its
// new parent looks, and its number may be given to another.
func assertEnded(t *testing.T, helper process) {
	t.Helper()
	waitUntil(t, "an end of the helper", func() bool {
		p, ok := readProcess("/proc/" + strconv.Itoa(helper.id) + "/stat")
		return !ok || p.state == "Z" || p.used < helper.used
	})
}
