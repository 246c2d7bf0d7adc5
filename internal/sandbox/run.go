package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// ErrMissing is wrapped when a tool is not installed.
var ErrMissing = errors.New("tool is not installed")

// ErrTimeout is wrapped when a tool ran into Limits.Time and was ended.
var ErrTimeout = errors.New("tool took too long")

// usualPath is where a tool finds its own helpers.
const usualPath = "/usr/local/bin:/usr/bin:/bin"

// Limits bound one run of a tool. The zero value of a field takes the number
// in brackets.
type Limits struct {
	Time    time.Duration // wall time (10 s)
	CPU     time.Duration // processor time, whole seconds (10 s)
	Memory  int64         // address space in bytes; 2 GiB or more (4 GiB)
	File    int64         // largest file it may write, in bytes (64 MiB)
	Output  int           // bytes of its output that are kept (64 KiB)
	Handles int           // open files (256)
}

func (l Limits) orDefault() Limits {
	return Limits{
		Time: or(l.Time, 10*time.Second), CPU: or(l.CPU, 10*time.Second),
		Memory: or(l.Memory, 4<<30), File: or(l.File, 64<<20),
		Output: or(l.Output, 64<<10), Handles: or(l.Handles, 256),
	}
}

func or[T int | int64 | time.Duration](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}

// Output is what a tool wrote, cut at Limits.Output.
type Output struct{ Stdout, Stderr []byte }

// Find tells where a tool is installed; the error wraps ErrMissing.
func Find(tool string) (path string, err error) {
	path, err = exec.LookPath(tool)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", tool, ErrMissing)
	}
	return path, nil
}

// Run runs a tool to its end and gives what it wrote, also when it failed.
// The tool and everything it started are killed when ctx ends or the time is
// up. Arguments reach the tool as they are, one by one.
func Run(ctx context.Context, limits Limits, tool string, args ...string) (Output, error) {
	path, err := Find(tool)
	if err != nil {
		return Output{}, err
	}
	folder, err := os.MkdirTemp("", "spillway-tool-")
	if err != nil {
		return Output{}, fmt.Errorf("make private folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	return runIn(ctx, limits.orDefault(), folder, path, args)
}

func runIn(ctx context.Context, limits Limits, folder, path string, args []string) (Output, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limits.Time, ErrTimeout)
	defer cancel()
	stdout, stderr := &bounded{limit: limits.Output}, &bounded{limit: limits.Output}
	command := exec.CommandContext(ctx, shell, limited(limits, path, args)...)
	command.Dir, command.Stdout, command.Stderr = folder, stdout, stderr
	command.Env = []string{"PATH=" + filepath.Dir(path) + ":" + usualPath, "HOME=" + folder, "TMPDIR=" + folder, "LANG=C.UTF-8"}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return killGroup(command.Process.Pid) }
	// A child that left the group could hold the pipes open for ever.
	command.WaitDelay = time.Second
	err := command.Run()
	if command.Process != nil {
		// What the tool started and left behind is still in its group.
		_ = killGroup(command.Process.Pid)
	}
	output := Output{stdout.kept.Bytes(), stderr.kept.Bytes()}
	if cause := context.Cause(ctx); cause != nil && err != nil {
		return output, fmt.Errorf("run %s: %w", path, cause)
	}
	if err != nil {
		return output, fmt.Errorf("run %s: %w", path, err)
	}
	return output, nil
}

func killGroup(leader int) error {
	err := syscall.Kill(-leader, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// bounded keeps the first bytes and swallows the rest, so that a talkative
// tool neither blocks nor fills the memory.
type bounded struct {
	kept  bytes.Buffer
	limit int
}

// Write never fails.
func (b *bounded) Write(p []byte) (int, error) {
	b.kept.Write(p[:min(len(p), b.limit-b.kept.Len())])
	return len(p), nil
}
