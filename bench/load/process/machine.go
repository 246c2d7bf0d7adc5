package process

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is a look at what the machine has been doing.
type Machine struct {
	At    time.Time
	Times Times
	// Own is the CPU time of this program and of the children it waited for.
	Own time.Duration
}

// Look reads it now.
func Look(now time.Time) (Machine, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Machine{}, fmt.Errorf("read times of the processors: %w", err)
	}
	times, err := ParseTimes(string(text))
	return Machine{At: now, Times: times, Own: Own() + rusage(unix.RUSAGE_CHILDREN)}, err
}

// Own is the CPU time of this program alone.
func Own() time.Duration { return rusage(unix.RUSAGE_SELF) }

func rusage(who int) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Shares are the parts of the machine's CPU time, between two looks, that
// other programs took, and that the hypervisor gave to other machines.
type Shares struct{ Others, Stolen float64 }

// Since compares two looks. Children have to be waited for in between, or
// they count as others; ours is what of them is not in Own.
func (m Machine) Since(before Machine, ours time.Duration) Shares {
	busy, stolen := m.Times.Busy-before.Times.Busy, m.Times.Stolen-before.Times.Stolen
	all := busy + stolen + m.Times.Idle - before.Times.Idle
	if all <= 0 {
		return Shares{}
	}
	others := busy - (m.Own - before.Own) - ours
	return Shares{Others: max(0, others.Seconds()/all.Seconds()), Stolen: stolen.Seconds() / all.Seconds()}
}

// Model names the processor.
func Model() string { return ParseModel(read("/proc/cpuinfo")) }

// Load is the load average of the last minute.
func Load() string {
	fields := strings.Fields(read("/proc/loadavg"))
	if len(fields) == 0 {
		return "unknown"
	}
	return fields[0]
}

// System names the distribution and the kernel.
func System() string {
	name := "Linux"
	for line := range strings.Lines(read("/etc/os-release")) {
		if value, found := strings.CutPrefix(line, "PRETTY_NAME="); found {
			name = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return name + ", Linux " + strings.TrimSpace(read("/proc/sys/kernel/osrelease"))
}

func read(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}
