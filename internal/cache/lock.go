package cache

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// takeLock holds the folder until the file is closed or the process ends,
// however it ends. The file tells which process that is.
func takeLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open cache lock: %w", err)
	}
	err = flock(file, unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = fmt.Errorf("open cache folder %s: %w%s", path[:len(path)-len(lockFile)-1], ErrInUse, holder(file))
	case err != nil:
		err = fmt.Errorf("lock cache folder: %w", err)
	default:
		err = sign(file)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func sign(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return fmt.Errorf("write cache lock: %w", err)
	}
	if _, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("write cache lock: %w", err)
	}
	return nil
}

// holder ends a sentence with who has the lock, when that can be read.
func holder(file *os.File) string {
	text := make([]byte, 32)
	n, _ := file.ReadAt(text, 0)
	number, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return ""
	}
	return " (process " + strconv.Itoa(number) + ")"
}

// flock locks what the descriptor is open on, for this process's opening of
// it only.
func flock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
