// Package link makes a slow connection out of the machine's own loopback: its
// rate is shaped by the kernel, its delay is added at the client's end.
//
// Start in shaped.go (a network namespace with a token bucket on its loopback),
// then delay.go (what a connection from far away looks like).
// State: a Link owns one thread of the operating system, which alone is in the
// namespace; sockets made there stay there, whoever uses them.
// Do, Listen and Dial block until that thread has done what was asked.
// It never touches the network that the rest of the machine uses.
// Limits: Linux, root, and the programs ip and tc of iproute2.
package link
