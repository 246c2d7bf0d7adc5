package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// dependent lets the kernel end the process when its parent dies. Strictly it
// is when the thread dies that started it, but Go ends no thread on its own.
func dependent(attributes *syscall.SysProcAttr) *syscall.SysProcAttr {
	attributes.Pdeathsig = syscall.SIGKILL
	return attributes
}

// preferToDie makes the process the first to go when the machine runs out of
// memory, before the server that started it. Where that is forbidden, the
// kernel's own choice has to do.
func preferToDie() { _ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0) }

// allowMemory limits writable private memory, which is what encoders take; the
// address space would count the libraries and what Go reserves too.
func allowMemory(more uint64) error {
	return lower(syscall.RLIMIT_DATA, dataBytes()+more, unlimited)
}

// dataBytes is the writable private memory of the process: the sixth number of
// statm (proc(5)), in pages.
func dataBytes() uint64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if fields := bytes.Fields(statm); err == nil && len(fields) > 5 {
		pages, _ := strconv.ParseUint(string(fields[5]), 10, 64)
		return pages * uint64(os.Getpagesize())
	}
	return unlimited >> 1
}
