package machine

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Seen reads the Facts of this process.
func Seen() Facts {
	memory, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		memory = 0
	}
	return Facts{CPUs: runtime.NumCPU(), Memory: int64(memory)}
}
