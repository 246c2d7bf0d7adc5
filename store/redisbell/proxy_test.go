package redisbell_test

import (
	"net"
	"strings"
	"sync"
	"testing"
)

// proxy stands before a server and can stop forwarding without closing
// anything, as a network does when a machine is gone.
type proxy struct {
	ln     net.Listener
	target string
	all    sync.WaitGroup

	mu       sync.Mutex // guards all below
	hanging  bool
	age      int // connections of an earlier age hang for ever
	accepted int
	conns    []net.Conn
}

func newProxy(t testing.TB, url string) (p *proxy, through string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p = &proxy{ln: ln, target: strings.TrimSuffix(strings.TrimPrefix(url, "redis://"), "/0")}
	p.all.Go(p.serve)
	t.Cleanup(p.close)
	return p, "redis://" + ln.Addr().String() + "/0"
}

func (p *proxy) close() {
	_ = p.ln.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
}

func (p *proxy) serve() {
	for {
		front, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.accepted++
		p.conns = append(p.conns, front)
		age := p.age
		back, err := net.Dial("tcp", p.target)
		if err == nil {
			p.conns = append(p.conns, back)
			p.all.Go(func() { p.copy(back, front, age) })
			p.all.Go(func() { p.copy(front, back, age) })
		} else {
			_ = front.Close()
		}
		p.mu.Unlock()
	}
}

// copy forwards what is not to hang, and swallows the rest.
func (p *proxy) copy(to, from net.Conn, age int) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		hangs := p.hanging || age != p.age
		p.mu.Unlock()
		switch {
		case hangs && err != nil:
			return // and who is at the other end learns nothing
		case err != nil:
			_ = to.Close()
			return
		case !hangs:
			_, _ = to.Write(buf[:n])
		}
	}
}

// hang stops all forwarding; connections are accepted and stay open.
func (p *proxy) hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hanging = true
}

// failOver forwards again for new connections; those there were hang for ever.
func (p *proxy) failOver() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hanging = false
	p.age++
}

func (p *proxy) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}
