package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// helperSocket is where a helper finds its end of the socket: the first
// descriptor after the three standard ones.
const helperSocket = 3

// Helper is a process of this program itself, started to do what cannot be
// stopped in any other way than by ending the process. It is spoken to over a
// socket that can carry descriptors.
//
// Kill may be called at any time by anybody; all else is its owner's.
type Helper struct {
	// Conn is the parent's end; it reads EOF when the helper is gone.
	Conn    *net.UnixConn
	command *exec.Cmd
	stderr  *bounded
	reap    func() error
}

// StartHelper starts command[0] with the words after it as arguments and
// nothing but env in its environment. The limits are set by the helper, which
// calls Confine before it does anything else: unlike a tool of another project
// it can be trusted with that, and it saves the shell.
func StartHelper(command, env []string) (*Helper, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("start helper: %w", err)
	}
	defer func() { _ = theirs.Close() }()
	h := &Helper{Conn: ours, stderr: &bounded{limit: 4 << 10}}
	h.command = exec.Command(command[0], command[1:]...) //nolint:noctx // it outlives the run that starts it
	h.command.Env, h.command.Stderr = env, h.stderr
	h.command.ExtraFiles = []*os.File{theirs}
	h.command.SysProcAttr = dependent(&syscall.SysProcAttr{Setpgid: true})
	h.command.WaitDelay = time.Second
	if err := h.command.Start(); err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("start helper: %w", err)
	}
	h.reap = sync.OnceValue(h.end)
	return h, nil
}

// Kill ends the process at once. It does not wait; Close does.
func (h *Helper) Kill() { _ = h.command.Process.Kill() }

// Gone tells whether the process has ended, or says something that it was not
// asked, while nothing is to be done.
func (h *Helper) Gone() bool {
	raw, err := h.Conn.SyscallConn()
	if err != nil {
		return true
	}
	var quiet bool
	err = raw.Control(func(socket uintptr) {
		_, _, err := syscall.Recvfrom(int(socket), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = errors.Is(err, syscall.EAGAIN)
	})
	return err != nil || !quiet
}

// Close ends the process, waits until it is gone, and gives everything back.
// The error says how it ended when that was not by Close or Kill, with the
// first of what it wrote to stderr.
func (h *Helper) Close() error { return h.reap() }

func (h *Helper) end() error {
	_ = h.Conn.Close()
	// Until it is waited for, its number belongs to no other process.
	_ = killGroup(h.command.Process.Pid)
	err := h.command.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("helper: %w: %s", err, h.stderr.kept.Bytes())
	}
	return nil
}

// socketPair is a connection within the machine: our end, and the file that
// becomes the helper's.
func socketPair() (ours *net.UnixConn, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(ends[0])
		syscall.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("make socket: %w", err)
	}
	theirs = os.NewFile(uintptr(ends[1]), "helper")
	if ours, err = unixConn(os.NewFile(uintptr(ends[0]), "helper")); err != nil {
		_ = theirs.Close()
	}
	return ours, theirs, err
}

// unixConn makes a connection of a file, which is closed.
func unixConn(file *os.File) (*net.UnixConn, error) {
	conn, err := net.FileConn(file)
	_ = file.Close()
	if err != nil {
		return nil, fmt.Errorf("open socket: %w", err)
	}
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		_ = conn.Close()
		return nil, errors.New("open socket: it is not of the local kind")
	}
	return unix, nil
}
