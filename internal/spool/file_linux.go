package spool

import (
	"os"

	"golang.org/x/sys/unix"
)

// unlinkedFile opens a file that has no name and vanishes with its last
// descriptor. O_TMPFILE never gives it one; file systems without it (some
// overlays, NFS) get a name for the moment between create and remove.
func unlinkedFile(dir string) (*os.File, error) {
	file, err := os.OpenFile(dir, unix.O_TMPFILE|unix.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		return file, nil
	}
	return removedFile(dir)
}
