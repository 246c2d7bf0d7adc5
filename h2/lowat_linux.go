package h2

import (
	"net"
	"syscall"
)

// tcpNotSentLowat is TCP_NOTSENT_LOWAT, which package syscall does not name.
const tcpNotSentLowat = 25

// setNotSentLowat keeps the kernel from taking megabytes before the first of
// them is on the wire: a write waits until less than so many bytes are unsent, so
// that what is chosen next is chosen late. It is not inherited from the listener.
func setNotSentLowat(nc net.Conn, unsent int) {
	raw, ok := nc.(syscall.Conn)
	if !ok {
		return
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return
	}
	// A socket that refuses, as one that is no TCP does, works as before.
	_ = control.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowat, unsent)
	})
}
