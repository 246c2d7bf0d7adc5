package soak_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/bench/load/process"
)

// held is what a server could leak.
type held struct {
	files, goroutines, children, threads   int
	spools, allocations, tracked, vipsFile float64
	waiting, running, decoded              float64
	temporary                              int
}

// holdings reads them from outside: /proc for what the system knows, the
// metrics for the rest.
func holdings(t *testing.T, s *process.Server, folder string) held {
	t.Helper()
	m := metrics(t, s)
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.PID))
	if err != nil {
		t.Fatal(err)
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.PID))
	if err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(folder, "*", "spillway-*"))
	if err != nil {
		t.Fatal(err)
	}
	return held{
		files: len(fds), threads: len(threads), goroutines: int(m["go_goroutines"]), children: len(process.Children(s.PID)),
		spools: m["spillway_spools_open"], allocations: m["spillway_vips_allocations"],
		tracked: m["spillway_vips_memory_bytes"], vipsFile: m["spillway_vips_files"],
		waiting: m["spillway_jobs_waiting"], running: m["spillway_jobs_in_flight"],
		decoded: m[`spillway_decoded_bytes{kind="reserved"}`], temporary: len(left),
	}
}

// leak names what has grown since before. A few connections and the goroutines
// that serve them may still be closing; what is kept by request would be in
// the hundreds. The system's threads are the runtime's to keep: they are few
// whatever came.
func (h held) leak(before held) string {
	switch {
	case h.waiting > 0 || h.running > 0 || h.decoded > 0:
		return fmt.Sprintf("%.0f wait, %.0f run, %.0f bytes are reserved", h.waiting, h.running, h.decoded)
	case h.spools > before.spools:
		return fmt.Sprintf("%.0f spools are open, %.0f were", h.spools, before.spools)
	case h.allocations > before.allocations || h.tracked > before.tracked || h.vipsFile > before.vipsFile:
		return fmt.Sprintf("libvips holds %.0f bytes in %.0f pieces and %.0f files", h.tracked, h.allocations, h.vipsFile)
	case h.files > before.files+8:
		return fmt.Sprintf("%d files are open, %d were", h.files, before.files)
	case h.goroutines > before.goroutines+16:
		return fmt.Sprintf("%d goroutines run, %d did", h.goroutines, before.goroutines)
	case h.children > before.children:
		return fmt.Sprintf("%d child processes are left", h.children)
	case h.threads > 64:
		return fmt.Sprintf("%d threads live", h.threads)
	case h.temporary > before.temporary:
		return fmt.Sprintf("%d temporary files have names, %d had", h.temporary, before.temporary)
	}
	return ""
}

// metrics reads all of /metrics by name and labels.
func metrics(t *testing.T, s *process.Server) map[string]float64 {
	t.Helper()
	resp, err := http.Get(s.Admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "} ")
		if ok {
			name += "}"
		} else {
			name, value, ok = strings.Cut(lines.Text(), " ")
		}
		if n, err := strconv.ParseFloat(value, 64); ok && err == nil {
			all[name] = n
		}
	}
	return all
}
