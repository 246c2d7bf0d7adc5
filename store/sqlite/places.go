package sqlite

import (
	"fmt"
	"os"
)

// places knows which files the writer writes to. Somebody may remove or replace
// one that is open; what is written then is gone with the process.
type places struct {
	path      string
	file, log os.FileInfo // as they were first
}

// stay is called within a transaction, when SQLite has both files open.
func (p *places) stay() error {
	for _, place := range []struct {
		path  string
		first *os.FileInfo
	}{{p.path, &p.file}, {p.path + "-wal", &p.log}} {
		now, err := os.Stat(place.path)
		if err != nil {
			return fmt.Errorf("look at the file that is written to: %w", err)
		}
		if *place.first == nil {
			*place.first = now
		}
		if !os.SameFile(*place.first, now) {
			return fmt.Errorf("%s is not the file that was opened: somebody has replaced it", place.path)
		}
	}
	return nil
}
