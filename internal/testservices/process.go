package testservices

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 20 * time.Second
	// startTries is how often another port is tried: between choosing one and
	// listening on it, somebody else may take it.
	startTries = 5
)

// process is a server that runs.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when it is gone
}

// start runs a program that dies with this process. Its output is appended to
// the file at logPath.
func start(logPath string, as *syscall.Credential, orphaned syscall.Signal, name string, args ...string) (*process, error) {
	output, err := os.OpenFile(logPath, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", filepath.Base(name), err)
	}
	defer func() { _ = output.Close() }() // the server has a copy of it
	cmd := exec.Command(name, args...)    //nolint:noctx // it outlives every context: a test's cleanup ends it
	cmd.Stdout, cmd.Stderr = output, output
	cmd.Dir = filepath.Dir(logPath)
	cmd.SysProcAttr = attributes(as, orphaned)
	p := &process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel takes the end of the thread that started a process for
		// the end of its parent, so this thread stays until the server is gone.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(name), err)
	}
	return p, nil
}

// stop sends sig and waits for the end; a server that does not obey is killed.
func (p *process) stop(sig syscall.Signal) {
	_ = p.cmd.Process.Signal(sig) // it may be gone already
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// answers waits until ask gives no error. It fails at once when the server has
// ended by itself.
func (p *process) answers(ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return errors.New("it ended by itself")
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", err)
		case <-again.C:
		}
	}
}

// freePort finds a port that is free now and that the kernel gives to no
// outgoing connection, so that a restarted server finds it free again.
func freePort(t testing.TB) int {
	t.Helper()
	for range 100 {
		port := 15000 + rand.IntN(17000)
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		_ = l.Close()
		return port
	}
	t.Fatal("no port from 15000 to 32000 is free")
	return 0
}

// folder makes one that belongs to who runs the server. It is not in
// t.TempDir, which another user cannot enter.
func folder(t testing.TB, owner *syscall.Credential) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "spillway-test-") //nolint:usetesting // see above
	if err != nil {
		t.Fatalf("make folder of a server: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if owner != nil {
		if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			t.Fatalf("give folder to the server's user: %v", err)
		}
	}
	return dir
}

// unprivileged is the named user when this process is root, whom Postgres
// refuses, and nil otherwise.
func unprivileged(name string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil is the caller's own user
	}
	account, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("find user %s: %w", name, err)
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read id of user %s: %w", name, err)
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read group of user %s: %w", name, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// logTail is the end of what a server said, for a test that fails.
func logTail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}
