package browser

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	// stopTimeout is how long Chromium may take to end after it was asked to.
	stopTimeout = 10 * time.Second
	// orphanTimeout is how long its helpers may take after that.
	orphanTimeout = 5 * time.Second
	// complaintBytes is how much of its stderr is kept for an error message.
	complaintBytes = 4 << 10
)

// Find gives the path of a Chromium or Chrome.
func Find() (string, error) {
	for _, place := range []string{
		"chromium", "chromium-browser", "google-chrome",
		"/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	} {
		if path, err := exec.LookPath(place); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("find Chromium or Chrome (scripts/setup.sh test installs it): %w", exec.ErrNotFound)
}

// process is Chromium with all of its helpers, which are a group of their own.
type process struct {
	cmd    *exec.Cmd
	stderr *tail
	exited chan struct{} // closed when all of them are gone
}

// run starts a program with read and write as its descriptors 3 and 4, and
// closes them here.
func run(command []string, read, write *os.File) (*process, error) {
	defer func() { _, _ = read.Close(), write.Close() }()                                                      // the program has copies
	p := &process{cmd: exec.Command(command[0], command[1:]...), stderr: &tail{}, exited: make(chan struct{})} //nolint:noctx // Close ends it, in order
	p.cmd.ExtraFiles = []*os.File{read, write}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// All of its processes hold stderr, so Wait returns when the last is gone
	// and nobody writes to the profile any more.
	p.cmd.Stderr, p.cmd.WaitDelay = p.stderr, orphanTimeout
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // how it ended does not matter once it was asked to
	}()
	return p, nil
}

// await waits for the end of all processes, and kills what does not end.
func (p *process) await() error {
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		p.kill()
		<-p.exited
		return fmt.Errorf("close Chromium: it did not end in %s and was killed; it said: %s", stopTimeout, p.stderr)
	}
	return p.awaitHelpers()
}

// awaitHelpers waits until nothing is left of the group. Helpers that ended
// are in it until the system's first process has buried them.
func (p *process) awaitHelpers() error {
	timeout := time.After(orphanTimeout)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for syscall.Kill(-p.cmd.Process.Pid, 0) == nil {
		select {
		case <-again.C:
		case <-timeout:
			p.kill()
			return errors.New("close Chromium: a helper outlived it and was killed")
		}
	}
	return nil
}

func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // they may be gone already
}

// tail is the end of what was written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps the end of p.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-complaintBytes):]
	return len(p), nil
}

// String is what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}
