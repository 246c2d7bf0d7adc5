//go:build !linux

package h2

import "net"

// setNotSentLowat does nothing where the option is another one or none.
func setNotSentLowat(net.Conn, int) {}
