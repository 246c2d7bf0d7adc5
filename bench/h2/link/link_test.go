package link_test

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/bench/h2/link"
)

func TestWhatIsFarComesLateAndWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, other := net.Pipe()
		far := link.Far(near, link.Delay)
		began := time.Now()
		echo := make(chan error, 1)
		go func() {
			got := make([]byte, 4)
			_, err := io.ReadFull(other, got)
			if err == nil {
				_, err = other.Write(got)
			}
			echo <- err
		}()
		if _, err := far.Write([]byte("ping")); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 4)
		if _, err := io.ReadFull(far, got); err != nil || !bytes.Equal(got, []byte("ping")) {
			t.Fatalf("read %q, %v", got, err)
		}
		if err := <-echo; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 2*link.Delay {
			t.Errorf("a round trip took %s, want %s", took, 2*link.Delay)
		}
		if err := far.Close(); err != nil {
			t.Error(err)
		}
		if _, err := far.Read(got); err == nil {
			t.Error("a closed connection can be read")
		}
	})
}

func TestTheEndOfAConnectionIsSeenBehindItsBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, other := net.Pipe()
		far := link.Far(near, link.Delay)
		go func() {
			_, _ = other.Write([]byte("last words"))
			_ = other.Close()
		}()
		got, err := io.ReadAll(far)
		if string(got) != "last words" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		_ = far.Close()
	})
}

func TestTheLinkCarriesItsRateAndNoMore(t *testing.T) {
	l, err := link.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	listener, err := l.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	const size = 400e3
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Write(make([]byte, size))
		_ = conn.Close()
	}()
	// The port is not there outside of the namespace, but through a forward.
	if conn, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		_ = conn.Close()
		t.Error("the link's port can be reached without the link")
	}
	forward, err := l.Forward(t.Context(), listener.Addr().String(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer forward.Close()
	began := time.Now()
	conn, err := net.Dial("tcp", forward.Address)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil || len(got) != size {
		t.Fatalf("read %d bytes, %v", len(got), err)
	}
	// A bucket of 16 KB passes at once; a busy machine can only be slower.
	if took, least := time.Since(began), time.Duration((size-20e3)/link.Rate*float64(time.Second)); took < least {
		t.Errorf("%d bytes came within %s, want at least %s", len(got), took, least)
	}
}
