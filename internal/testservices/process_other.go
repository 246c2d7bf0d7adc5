//go:build !linux

package testservices

import "syscall"

// attributes has no word for a parent's death on these systems. The servers stay
// in the test's process group, so that ^C ends them too; a test that is killed
// leaves them behind.
func attributes(as *syscall.Credential, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as}
}
