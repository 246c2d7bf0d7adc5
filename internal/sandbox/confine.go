package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Confine is the first call of a helper: it takes from the process what it
// needs not have, and gives the socket to its parent. From then on the process
// writes no file and leaves no core.
//
// Signals to stop are ignored: they are sent to all processes of a service at
// once, and the parent is still to finish what it has begun. A helper ends when
// the parent closes the socket, kills it, or dies.
func Confine() (*net.UnixConn, error) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	for resource, limit := range map[int]uint64{
		syscall.RLIMIT_CORE: 0, syscall.RLIMIT_FSIZE: 0, syscall.RLIMIT_NOFILE: 64,
	} {
		if err := lower(resource, limit, limit); err != nil {
			return nil, fmt.Errorf("confine helper: %w", err)
		}
	}
	preferToDie()
	return unixConn(os.NewFile(helperSocket, "parent"))
}

// Allow bounds the task that begins now: the processor time and the memory it
// may take beyond what the process has taken so far. The kernel ends a process
// that takes more time; more memory is refused to it.
func Allow(limits Limits) error {
	limits = limits.orDefault()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return fmt.Errorf("limit helper: %w", err)
	}
	used := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	seconds := uint64((used + limits.CPU + time.Second - 1) / time.Second)
	if err := lower(syscall.RLIMIT_CPU, seconds, unlimited); err != nil {
		return fmt.Errorf("limit helper: %w", err)
	}
	return allowMemory(uint64(limits.Memory))
}

const unlimited = 1<<64 - 1

// lower sets a limit, as far as the limits that the process was started with
// allow it.
func lower(resource int, soft, hard uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return fmt.Errorf("read limit %d: %w", resource, err)
	}
	hard = min(hard, now.Max)
	if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: min(soft, hard), Max: hard}); err != nil {
		return fmt.Errorf("set limit %d to %d: %w", resource, soft, err)
	}
	return nil
}
