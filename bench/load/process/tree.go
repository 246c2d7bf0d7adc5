package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// family is a process and everything it started that is still there.
func family(root int) ([]Stat, error) {
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	children := map[int][]Stat{}
	var members []Stat
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it ended in between
		}
		stat, err := ParseStat(string(text))
		if err != nil {
			return nil, err
		}
		if stat.PID == root {
			members = append(members, stat)
		}
		children[stat.Parent] = append(children[stat.Parent], stat)
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("read process %d: it is gone", root)
	}
	for i := 0; i < len(members); i++ {
		members = append(members, children[members[i].PID]...)
	}
	return members, nil
}

// CPU is what a process and all its children, those that ended included, have
// used so far.
func CPU(root int) (time.Duration, error) {
	members, err := family(root)
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, m := range members {
		sum += clock(m) + m.Ended
	}
	return sum, nil
}

// clock is the CPU clock of a live process, to the nanosecond; what /proc says
// where there is none. The number of the clock is that of clock_getcpuclockid.
func clock(m Stat) time.Duration {
	const scheduler = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^m.PID<<3|scheduler), &t); err != nil || m.State == "Z" {
		return m.CPU
	}
	return time.Duration(t.Nano())
}

// Memory is what a process and its children hold.
type Memory struct {
	// Now is the resident memory of the process and, of its children, what
	// they do not share.
	Now int64
	// Peak is the most the process itself has had resident.
	Peak     int64
	Children int
}

// Held reads the memory of a process and its children.
func Held(root int) (Memory, error) {
	members, err := family(root)
	if err != nil {
		return Memory{}, err
	}
	var m Memory
	for i, member := range members {
		folder := "/proc/" + strconv.Itoa(member.PID)
		if i == 0 {
			text, err := os.ReadFile(folder + "/status")
			if err != nil {
				return Memory{}, fmt.Errorf("read memory of process %d: %w", root, err)
			}
			sizes := ParseSizes(string(text), "VmRSS", "VmHWM")
			m.Now, m.Peak = sizes[0], sizes[1]
			continue
		}
		m.Children++
		if text, err := os.ReadFile(folder + "/smaps_rollup"); err == nil {
			m.Now += ParseSizes(string(text), "Pss")[0]
		}
	}
	return m, nil
}

// Children lists the processes below root.
func Children(root int) []int {
	members, err := family(root)
	if err != nil {
		return nil
	}
	var pids []int
	for _, m := range members[1:] {
		pids = append(pids, m.PID)
	}
	return slices.Clip(pids)
}
