package testservices

import "syscall"

// attributes makes the kernel send a signal when this process is gone, however
// it went.
func attributes(as *syscall.Credential, orphaned syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Pdeathsig: orphaned, Setpgid: true}
}
