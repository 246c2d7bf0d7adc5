package conformance_test

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"
)

// resetPeak starts the process's peak of resident memory anew and returns
// what is resident now, in bytes; 0 where the system does not tell.
func resetPeak(t testing.TB) int64 {
	t.Helper()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200); err != nil {
		return 0
	}
	return statusBytes("VmRSS")
}

// peak is the most that was resident since resetPeak.
func peak(testing.TB) int64 { return statusBytes("VmHWM") }

// statusBytes reads one line of /proc/self/status (proc(5)), which counts in
// KiB.
func statusBytes(name string) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if rest, found := strings.CutPrefix(string(line), name+":"); found {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}

// openFiles is how many file descriptors the process holds, -1 where the
// system does not tell.
func openFiles() int {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(fds)
}
