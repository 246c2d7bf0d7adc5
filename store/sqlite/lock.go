package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// fileLock is an flock on a file of its own beside the database. The kernel
// frees it when its process dies, however that happens. Two locks of one file
// exclude each other also within one process.
type fileLock struct{ file *os.File }

func openLock(path string) (*fileLock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return &fileLock{file}, nil
}

// try takes the lock when nobody has it.
func (l *fileLock) try() (bool, error) {
	for {
		err := unix.Flock(int(l.file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, fmt.Errorf("lock %s: %w", l.file.Name(), err)
		}
	}
}

// unlock lets another have it. A lock that cannot be given back is freed by close.
func (l *fileLock) unlock() error { return unix.Flock(int(l.file.Fd()), unix.LOCK_UN) }

func (l *fileLock) close() error { return l.file.Close() }

// Waits between tries: short at first, because a commit takes about a
// millisecond, and never so long that somebody would notice.
const (
	firstWait   = 200 * time.Microsecond
	longestWait = 5 * time.Millisecond
)

// retry calls try until it has succeeded, failed, or ctx has ended.
func retry(ctx context.Context, try func() (bool, error)) error {
	wait := firstWait
	for {
		if done, err := try(); done || err != nil {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		wait = min(2*wait, longestWait)
	}
}
