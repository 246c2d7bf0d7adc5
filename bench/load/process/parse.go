package process

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc; Linux has 100 a second for programs on
// every architecture that Go runs on.
const tick = 10 * time.Millisecond

// Stat is what /proc/PID/stat says that is of use here.
type Stat struct {
	PID, Parent int
	State       string
	// CPU is user and system time of the process itself, Ended that of
	// children which ended and were waited for.
	CPU, Ended time.Duration
	Threads    int
}

// ParseStat reads /proc/PID/stat. The name, second, may hold anything, blanks
// and brackets too, so fields count from the last bracket.
func ParseStat(text string) (Stat, error) {
	open, shut := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || shut < open {
		return Stat{}, fmt.Errorf("parse stat of a process: no name in %q", text)
	}
	fields := strings.Fields(text[shut+1:])
	if len(fields) < 18 {
		return Stat{}, fmt.Errorf("parse stat of a process: %d fields behind the name", len(fields))
	}
	pid, err := strconv.Atoi(strings.TrimSpace(text[:open]))
	if err != nil {
		return Stat{}, fmt.Errorf("parse stat of a process: %w", err)
	}
	var numbers [18]int64
	for i, field := range fields[1:18] {
		if numbers[i+1], err = strconv.ParseInt(field, 10, 64); err != nil {
			return Stat{}, fmt.Errorf("parse stat of a process: %w", err)
		}
	}
	return Stat{
		PID: pid, Parent: int(numbers[1]), State: fields[0],
		CPU:     time.Duration(numbers[11]+numbers[12]) * tick,
		Ended:   time.Duration(numbers[13]+numbers[14]) * tick,
		Threads: int(numbers[17]),
	}, nil
}

// ParseSizes reads lines such as "VmRSS:   1234 kB" and gives the bytes of
// those named, 0 where there is none.
func ParseSizes(text string, names ...string) []int64 {
	sizes := make([]int64, len(names))
	for line := range strings.Lines(text) {
		name, rest, found := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if !found || len(fields) != 2 || fields[1] != "kB" {
			continue
		}
		for i := range names {
			if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil && names[i] == name {
				sizes[i] = n << 10
			}
		}
	}
	return sizes
}

// Times are those of all processors together since the machine started.
type Times struct{ Busy, Idle, Stolen time.Duration }

// ParseTimes reads the first line of /proc/stat. Time of guests is in that of
// users already.
func ParseTimes(text string) (Times, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return Times{}, fmt.Errorf("parse times of the processors: %q", line)
	}
	var n [8]time.Duration // user nice system idle iowait irq softirq steal
	for i := range n {
		ticks, err := strconv.ParseInt(fields[i+1], 10, 64)
		if err != nil {
			return Times{}, fmt.Errorf("parse times of the processors: %w", err)
		}
		n[i] = time.Duration(ticks) * tick
	}
	return Times{Busy: n[0] + n[1] + n[2] + n[5] + n[6], Idle: n[3] + n[4], Stolen: n[7]}, nil
}

// ParseModel finds the name of the processor in /proc/cpuinfo.
func ParseModel(text string) string {
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
