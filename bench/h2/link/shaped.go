package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Rate is what the link carries, in bytes a second: 10 Mbit/s.
const Rate = 10e6 / 8

// Delay is the way from one end of the link to the other; a round trip is two.
const Delay = 30 * time.Millisecond

// commands shape the loopback of the namespace. Packets are as large as on
// Ethernet, so that the bucket paces them one by one, and some 48 ms of them
// may wait, as in the modem of a household.
var commands = []string{
	"ip link set lo mtu 1500 up",
	"tc qdisc add dev lo root tbf rate 10mbit burst 16kb limit 60kb",
}

// Link is a loopback of its own that carries 10 Mbit/s.
type Link struct {
	calls chan func()
	ended sync.WaitGroup
}

// New makes the namespace and shapes it. Close gives it back.
func New(ctx context.Context) (*Link, error) {
	for _, program := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("make shaped link: %w (Debian has it in iproute2)", err)
		}
	}
	l := &Link{calls: make(chan func())}
	ready := make(chan error, 1)
	l.ended.Go(func() { l.run(ctx, ready) })
	if err := <-ready; err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// run is the one thread in the namespace. It is never unlocked, so that it
// ends with this goroutine and nothing else is ever run in the namespace.
func (l *Link) run(ctx context.Context, ready chan<- error) {
	runtime.LockOSThread()
	ready <- enter(ctx)
	for call := range l.calls {
		call()
	}
}

func enter(ctx context.Context) error {
	err := syscall.Unshare(syscall.CLONE_NEWNET)
	if errors.Is(err, syscall.EPERM) {
		return errors.New("make shaped link: a network namespace needs root (CAP_SYS_ADMIN): run this as root, or in a container that is privileged")
	}
	if err != nil {
		return fmt.Errorf("make network namespace: %w", err)
	}
	for _, line := range commands {
		words := strings.Fields(line)
		if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("shape link: %s: %w: %s", line, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// Do runs f where the link is. Processes that f starts are there, too.
func (l *Link) Do(f func()) {
	done := make(chan struct{})
	l.calls <- func() { defer close(done); f() }
	<-done
}

// Listen opens a port at the far end of the link.
func (l *Link) Listen(ctx context.Context) (listener net.Listener, err error) {
	l.Do(func() {
		var config net.ListenConfig
		listener, err = config.Listen(ctx, "tcp", "127.0.0.1:0")
	})
	if err != nil {
		return nil, fmt.Errorf("listen on the link: %w", err)
	}
	return listener, nil
}

// Dial connects across the link; the connection adds no delay of its own.
func (l *Link) Dial(ctx context.Context, address string) (conn net.Conn, err error) {
	l.Do(func() {
		var dialer net.Dialer
		conn, err = dialer.DialContext(ctx, "tcp", address)
	})
	if err != nil {
		return nil, fmt.Errorf("dial across the link: %w", err)
	}
	return conn, nil
}

// Close ends the thread. The namespace goes with the last socket in it.
func (l *Link) Close() {
	close(l.calls)
	l.ended.Wait()
}
