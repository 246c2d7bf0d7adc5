//go:build !linux

package spool

import "golang.org/x/sys/unix"

// resize is for systems that can; elsewhere the bytes are copied.
func resize([]byte, int64) []byte { return nil }

func useHugePages([]byte) {}

func populate([]byte, int64, int64) {}

// letGo tells that a mapped file is not wanted soon.
func letGo(mapped []byte) { _ = unix.Madvise(mapped, unix.MADV_DONTNEED) }
