package h2test

import (
	"net"
	"sync"

	"golang.org/x/net/http2/hpack"
)

func field(name, value string) hpack.HeaderField {
	return hpack.HeaderField{Name: name, Value: value}
}

// A Listener hands out ends of net.Pipe: with it a whole http.Server runs
// inside a synctest bubble, where time passes when nothing else can happen.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen returns a listener that nobody can reach but through Dial.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial connects, once the listener accepts.
func (l *Listener) Dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr {
	ours, _ := net.Pipe()
	return ours.LocalAddr()
}
