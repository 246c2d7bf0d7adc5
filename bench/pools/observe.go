package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ownCPU is what this process has used so far, in all threads.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// userHZ is the unit of /proc/stat, fixed at 100 in Linux's interface.
const userHZ = 10 * time.Millisecond

// machineCPU is what the whole machine has used, and what the host took from
// it: with ownCPU it tells how much was left for this program.
func machineCPU() time.Duration {
	data, err := os.ReadFile("/proc/stat")
	must(err)
	line, _, _ := bytes.Cut(data, []byte("\n"))
	var used time.Duration
	for i, field := range strings.Fields(string(line)) {
		const idle, iowait, steal = 4, 5, 8
		if i == 0 || i == idle || i == iowait || i > steal {
			continue
		}
		ticks, err := strconv.Atoi(field)
		must(err)
		used += time.Duration(ticks) * userHZ
	}
	return used
}

// forgetPeak makes Linux count the peak of resident memory anew.
func forgetPeak() { must(os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)) }

// resident gives the resident memory in bytes, now and at its peak.
func resident() (now, peak int64) {
	data, err := os.ReadFile("/proc/self/status")
	must(err)
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch name {
		case "VmRSS":
			now = kilobytes(value)
		case "VmHWM":
			peak = kilobytes(value)
		}
	}
	return now, peak
}

func kilobytes(value string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
	must(err)
	return n << 10
}

// blocked is how long goroutines have been blocked, in cycles, by what on.
type blocked struct {
	receive, callers, all int64
}

// profileBlocking turns the block profile on with every event counted.
func profileBlocking(on bool) {
	rate := 0
	if on {
		rate = 1
	}
	runtime.SetBlockProfileRate(rate)
}

// readBlocked sums the block profile up: what the seed read as chanrecv1, how
// much of that is only callers waiting for their answer, and everything.
func readBlocked() blocked {
	records := make([]runtime.BlockProfileRecord, 1024)
	for {
		n, ok := runtime.BlockProfile(records)
		if ok {
			records = records[:n]
			break
		}
		records = make([]runtime.BlockProfileRecord, 2*n)
	}
	var sum blocked
	for _, r := range records {
		sum.add(r)
	}
	return sum
}

func (b *blocked) add(r runtime.BlockProfileRecord) {
	leaf, byCaller, byHarness := "", false, false
	frames := runtime.CallersFrames(r.Stack())
	for {
		frame, more := frames.Next()
		if leaf == "" {
			leaf = frame.Function
		}
		byCaller = byCaller || strings.HasSuffix(frame.Function, "(*cell).call")
		byHarness = byHarness || isHarness(frame.Function)
		if !more {
			break
		}
	}
	if byHarness {
		return
	}
	b.all += r.Cycles
	if strings.HasPrefix(leaf, "runtime.chanrecv") {
		b.receive += r.Cycles
		if byCaller {
			b.callers += r.Cycles
		}
	}
}

// isHarness leaves out what belongs to no shape: the one who measures, and the
// clocks of the pool that importing ants starts.
func isHarness(function string) bool {
	return function == "main.main" || strings.HasSuffix(function, "poolCommon).ticktock") ||
		strings.HasSuffix(function, "poolCommon).purgeStaleWorkers")
}

func (b blocked) since(before blocked) blocked {
	return blocked{b.receive - before.receive, b.callers - before.callers, b.all - before.all}
}

func share(part, of int64) float64 {
	if of <= 0 {
		return 0
	}
	return float64(part) / float64(of)
}

// machine names what the figures were measured on.
func machineName(cores int) string {
	data, err := os.ReadFile("/proc/cpuinfo")
	must(err)
	model := "unknown processor"
	for line := range strings.Lines(string(data)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%d virtual cores of an %s, %s, %s/%s", cores, model, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// loadAverage is the machine's over the last minute: who else was at work.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	must(err)
	first, _, _ := strings.Cut(string(data), " ")
	return first
}
