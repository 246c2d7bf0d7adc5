package main_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The bars for a program that does nothing yet. Measured: 29 MB and 33 MB.
const (
	largestBinary = 50 << 20
	largestIdle   = 60 << 20
)

func TestTheBinaryIsSmallEnoughToShip(t *testing.T) {
	facts, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	if facts.Size() > largestBinary {
		t.Errorf("the binary has %d bytes, %d are allowed", facts.Size(), largestBinary)
	}
}

func TestAnIdleServerTakesLittleMemory(t *testing.T) {
	s := start(t, nil, "serve", "--listen", "127.0.0.1:0", "--source-root", t.TempDir(), "--log-level", "debug")
	s.wait(t, "start is over")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
	if err != nil {
		if runtime.GOOS != "linux" {
			t.Logf("%s does not tell what is resident", runtime.GOOS)
			return
		}
		t.Fatal(err)
	}
	if got := statusBytes(t, status, "VmRSS"); got > largestIdle {
		t.Errorf("%d bytes are resident, %d are allowed", got, largestIdle)
	}
}

// statusBytes reads a line of /proc/PID/status, which counts in KiB.
func statusBytes(tb testing.TB, status []byte, name string) int64 {
	tb.Helper()
	for line := range bytes.Lines(status) {
		if rest, found := strings.CutPrefix(string(line), name+":"); found {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			return n << 10
		}
	}
	tb.Fatalf("the system does not tell %s", name)
	return 0
}

// BenchmarkStart is the time from the start of the process to its listener.
// cpu-ms is what it takes of the CPU until then, on whatever cores.
func BenchmarkStart(b *testing.B) {
	var cpu float64
	for b.Loop() {
		s := start(b, nil, "serve", "--listen", "127.0.0.1:0", "--source-root", b.TempDir())
		b.StopTimer()
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.command.Process.Pid))
		if err != nil {
			b.Fatal(err)
		}
		cpu += ticks(b, stat)
		s.signal(b, syscall.SIGTERM)
		if code := s.exit(b); code != 0 {
			b.Fatalf("exit code = %d, want 0", code)
		}
		b.StartTimer()
	}
	b.ReportMetric(cpu/float64(b.N), "cpu-ms")
}

// ticks is the CPU time of a process in milliseconds, in steps of ten.
func ticks(tb testing.TB, stat []byte) float64 {
	tb.Helper()
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var sum float64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			tb.Fatal(err)
		}
		sum += 10 * n
	}
	return sum
}
