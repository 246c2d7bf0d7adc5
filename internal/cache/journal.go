package cache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A purge by another process removes files first and then adds a line to the
// journal, the group in quotes. The process that has the folder takes the
// lines out again; a lock on the journal keeps the two apart.

// announce adds a purge to the journal.
func announce(dir, group string) (err error) {
	file, err := os.OpenFile(filepath.Join(dir, journalFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open journal of purges: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := flock(file, unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock journal of purges: %w", err)
	}
	if _, err := file.WriteString(strconv.Quote(group) + "\n"); err != nil {
		return fmt.Errorf("write journal of purges: %w", err)
	}
	return nil
}

// collect empties the journal and gives the groups in it. It does not wait for
// a process that is writing; there is a next time.
func collect(dir string) (groups []string, err error) {
	path := filepath.Join(dir, journalFile)
	if facts, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || (err == nil && facts.Size() == 0) {
		return nil, nil
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal of purges: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := flock(file, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, fmt.Errorf("lock journal of purges: %w", err)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("read journal of purges: %w", err)
	}
	if err := file.Truncate(0); err != nil {
		return nil, fmt.Errorf("empty journal of purges: %w", err)
	}
	return parseJournal(string(text)), nil
}

// parseJournal reads the groups, each once. A line that cannot be read may
// have been any purge, so it purges everything.
func parseJournal(text string) []string {
	var groups []string
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		group, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		if err != nil {
			group = ""
		}
		if !seen[group] {
			seen[group] = true
			groups = append(groups, group)
		}
	}
	if seen[""] {
		return []string{""}
	}
	return groups
}
