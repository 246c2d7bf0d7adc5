package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// proc is where Linux shows its processes.
const proc = "/proc"

// markFD is the descriptor that a worker and whatever it starts have open: its
// log, for reading. Programs that are started inherit it, so it shows to whom a
// process belongs when its parent is long gone.
const markFD = "3"

// identity is a process, and not another one that got its number later.
type identity struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // ticks since the computer was started
	Boot  string `json:"boot"`  // which start that was
}

// stat is what /proc/PID/stat says.
type stat struct {
	state   string
	session int
	start   string
}

func readStat(pid int) (stat, bool) {
	text, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, false
	}
	return parseStat(text)
}

// parseStat reads the fields behind the name, which may hold anything, spaces
// and brackets included: the last bracket ends it. See proc_pid_stat(5).
func parseStat(text []byte) (stat, bool) {
	_, rest, ok := bytes.Cut(text, []byte("("))
	end := bytes.LastIndexByte(rest, ')')
	if !ok || end < 0 {
		return stat{}, false
	}
	fields := strings.Fields(string(rest[end+1:]))
	if len(fields) < 20 {
		return stat{}, false
	}
	session, err := strconv.Atoi(fields[3])
	if err != nil {
		return stat{}, false
	}
	return stat{state: fields[0], session: session, start: fields[19]}, true
}

func bootID() (string, error) {
	text, err := os.ReadFile(filepath.Join(proc, "sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("read which start of the computer this is: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// identify gives a running process its identity.
func (p *Provider) identify(pid int) identity {
	s, _ := readStat(pid)
	return identity{PID: pid, Start: s.start, Boot: p.boot}
}

// runs says whether that process is alive. A child that has ended is let go of,
// so that it does not stay as a zombie; that of another scheduler has a parent of
// its own, or init.
func (p *Provider) runs(i identity) bool {
	if i.PID <= 0 || i.Boot != p.boot {
		return false
	}
	s, ok := readStat(i.PID)
	if !ok || s.start != i.Start {
		return false
	}
	var status syscall.WaitStatus
	switch pid, err := syscall.Wait4(i.PID, &status, syscall.WNOHANG, nil); {
	case err != nil: // no child of this process
		return s.state != "Z" && s.state != "X"
	default: // 0: a child that has not ended, or not with all its threads
		return pid == 0
	}
}

// family lists the processes that have a machine's log open as markFD.
func (p *Provider) family(id string) []int {
	mark, err := os.Stat(p.dir.log(id))
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		open, err := os.Stat(filepath.Join(proc, e.Name(), "fd", markFD))
		if err == nil && os.SameFile(open, mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// head is the process of a family that was started for it, which leads a session.
func (p *Provider) head(id string) (identity, bool) {
	for _, pid := range p.family(id) {
		if s, ok := readStat(pid); ok && s.session == pid {
			return p.identify(pid), true
		}
	}
	return identity{}, false
}

// kill ends a worker and whatever it started, tools in process groups of their
// own too, until nothing new appears.
func (p *Provider) kill(r *record) {
	if p.runs(r.Process) {
		_ = syscall.Kill(r.Process.PID, syscall.SIGKILL)
		_ = syscall.Kill(-r.Process.PID, syscall.SIGKILL)
	}
	for range 10 {
		family := p.family(r.ID)
		if len(family) == 0 {
			return
		}
		for _, pid := range family {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
