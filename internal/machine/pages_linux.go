package machine

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ForgetLoading lets go of the pages of the program and its libraries that are
// as they lie on disk, and tells how many bytes were resident of them. Loading
// a hundred libraries reads symbol tables and start-up code that nobody reads
// again; what is still used comes back at the next touch, from the page cache.
//
// It is for once, soon after the start and before there is load. No library
// may be unloaded meanwhile.
func ForgetLoading() (int64, error) {
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return 0, fmt.Errorf("open memory map: %w", err)
	}
	// Nothing was written.
	defer func() { _ = smaps.Close() }()
	list, err := cleanMappings(smaps)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, m := range list {
		// Locked pages, for one, are refused, and stay.
		_, _, failed := unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED)
		if failed == 0 {
			total += m.resident
		}
	}
	return total, nil
}
