//go:build !linux

package sandbox

import "syscall"

// dependent changes nothing: elsewhere a helper whose parent has died ends
// when it next reads or writes.
func dependent(attributes *syscall.SysProcAttr) *syscall.SysProcAttr { return attributes }

func preferToDie() {}

// allowMemory does nothing: other systems do not hold such a limit.
func allowMemory(uint64) error { return nil }
