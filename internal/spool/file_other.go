//go:build !linux

package spool

import "os"

// unlinkedFile opens a file that vanishes with its last descriptor.
func unlinkedFile(dir string) (*os.File, error) { return removedFile(dir) }
