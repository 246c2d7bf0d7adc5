package spool

import (
	"os"

	"golang.org/x/sys/unix"
)

// resize changes the size of a large buffer; it may move when it grows. It is
// nil when the system will not.
func resize(buf []byte, size int64) []byte {
	resized, err := unix.Mremap(buf, int(size), unix.MREMAP_MAYMOVE)
	if err != nil {
		return nil
	}
	return resized
}

// useHugePages saves most of the page faults of a large buffer. Only pages
// that lie within it whole are huge, so it never takes more than it counts.
func useHugePages(buf []byte) { _ = unix.Madvise(buf, unix.MADV_HUGEPAGE) }

// populate brings in the pages that are about to be written to, in one call
// instead of a fault each. Kernels before 5.14 do not know it.
func populate(buf []byte, from, to int64) {
	page := int64(os.Getpagesize())
	_ = unix.Madvise(buf[from/page*page:to], unix.MADV_POPULATE_WRITE)
}

// letGo takes a mapped file out of the memory of this process; the next touch
// brings it back from the page cache, or from disk.
func letGo(mapped []byte) { _ = unix.Madvise(mapped, unix.MADV_DONTNEED) }
