package main_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/testpictures"
)

// slowOrigin answers a picture once it is let go, and tells when it is asked.
type slowOrigin struct {
	url   string
	asked chan struct{}
	letGo chan struct{}
}

func startSlowOrigin(t *testing.T) *slowOrigin {
	t.Helper()
	o := &slowOrigin{asked: make(chan struct{}, 1), letGo: make(chan struct{})}
	picture := testpictures.JPEG(testpictures.Scene(90, 60), 90)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.asked <- struct{}{}
		select {
		case <-o.letGo:
			_, _ = w.Write(picture)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	o.url = server.URL
	return o
}

// startSlow runs a server with one request under way that hangs in its origin.
func startSlow(t *testing.T, args ...string) (s *server, o *slowOrigin, answered chan answer) {
	t.Helper()
	o = startSlowOrigin(t)
	s = start(t, nil, append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--allow-source", o.url, "--allow-private-sources"}, args...)...)
	answered = make(chan answer, 1)
	go func() {
		// A connection that is cut gives the zero answer.
		a, _ := fetch(context.Background(), s.url+"/resize?image_url="+o.url+"/a.jpg&sizes=30x0&format=jpeg")
		answered <- a
	}()
	select {
	case <-o.asked:
	case a := <-answered:
		t.Fatalf("answered %d %.200q before the origin was asked", a.status, a.body)
	case <-time.After(limit):
		t.Fatal("the origin was not asked")
	}
	return s, o, answered
}

func TestTheFirstSignalFinishesWhatRuns(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String()+" lets a running request end and exits with 0", func(t *testing.T) {
			s, o, answered := startSlow(t)
			admin := "http://" + field(t, s.wait(t, "listening for operators"), "address")
			s.signal(t, signal)
			s.wait(t, `"msg":"stopping"`)
			awaitRefusal(t, strings.TrimPrefix(s.url, "http://"))
			if a := get(t, admin+"/readyz"); a.status != http.StatusServiceUnavailable {
				t.Errorf("readyz while draining = %d, want 503", a.status)
			}
			if a := get(t, admin+"/healthz"); a.status != http.StatusOK {
				t.Errorf("healthz while draining = %d, want 200", a.status)
			}
			close(o.letGo)
			assertPicture(t, <-answered, "jpeg", 30, 20)
			if code := s.exit(t); code != 0 {
				t.Errorf("exit code = %d, want 0", code)
			}
		})
	}
}

// awaitRefusal connects until it is refused: the listener closes a moment
// after the drain was announced.
func awaitRefusal(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		_ = connection.Close()
	}
	t.Error("connections are still accepted while draining")
}

func TestTheSecondSignalEndsAtOnce(t *testing.T) {
	tests := []struct {
		name          string
		first, second syscall.Signal
		want          int
	}{
		{"a second SIGTERM exits with 143", syscall.SIGTERM, syscall.SIGTERM, 143},
		{"a SIGINT after a SIGTERM exits with 130", syscall.SIGTERM, syscall.SIGINT, 130},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, _, _ := startSlow(t, "--drain-timeout", "10m")
			s.signal(t, test.first)
			s.wait(t, `"msg":"stopping"`)
			s.insist(t, test.second)
			if code := s.exit(t); code != test.want {
				t.Errorf("exit code = %d, want %d", code, test.want)
			}
		})
	}
}

func TestADrainThatTakesTooLongCutsOffAndExitsWithZero(t *testing.T) {
	s, _, answered := startSlow(t, "--drain-timeout", "200ms")
	s.signal(t, syscall.SIGTERM)
	s.wait(t, "requests cut off")
	if a := <-answered; a.status == http.StatusOK {
		t.Errorf("the hung request was answered %d", a.status)
	}
	if code := s.exit(t); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
}

func TestAnIdleServerStopsAtOnce(t *testing.T) {
	s := start(t, nil, "serve", "--listen", "127.0.0.1:0")
	began := time.Now()
	s.signal(t, syscall.SIGTERM)
	if code := s.exit(t); code != 0 || time.Since(began) > 10*time.Second {
		t.Errorf("exit code = %d after %s, want 0 well before the drain timeout", code, time.Since(began))
	}
}
