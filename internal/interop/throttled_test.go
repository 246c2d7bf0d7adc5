package interop_test

import (
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// throttled is the same server at the end of a slow link that carries rate
// bytes a second and holds little.
func throttled(t *testing.T, to *url.URL, rate int) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var links sync.WaitGroup
	var ends sync.Map // of connections, all to be closed at the end
	t.Cleanup(func() {
		_ = listener.Close()
		ends.Range(func(conn, _ any) bool { _ = conn.(net.Conn).Close(); return true })
		links.Wait()
	})
	links.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to.Host)
			if err != nil {
				_ = near.Close()
				continue
			}
			ends.Store(near, true)
			ends.Store(far, true)
			_ = errors.Join(near.(*net.TCPConn).SetWriteBuffer(16<<10), far.(*net.TCPConn).SetReadBuffer(16<<10))
			links.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() })
			links.Go(func() { trickle(near, far, rate); _ = near.Close() })
		}
	})
	return to.Scheme + "://" + listener.Addr().String()
}

// trickle copies as fast as the link carries.
func trickle(to io.Writer, from io.Reader, rate int) {
	buffer := make([]byte, 4<<10)
	free := time.Now() // when the link will be
	for {
		n, err := from.Read(buffer)
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
		now := time.Now()
		if free.Before(now) {
			free = now
		}
		free = free.Add(time.Duration(n) * time.Second / time.Duration(rate))
		if ahead := free.Sub(now); ahead > 5*time.Millisecond {
			<-time.After(ahead)
		}
	}
}
