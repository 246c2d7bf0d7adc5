package main_test

import (
	"context"
	"crypto/tls"
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

// ways are how clients speak to a server: each has to see the same end of it.
var ways = []string{"HTTP/1.1", "HTTP/2 in clear", "HTTP/2 over TLS", "HTTP/2 over TLS with http2=std"}

// speaking is the client of a way, and what the server is told for it.
func speaking(t *testing.T, way string) (client *http.Client, args []string) {
	t.Helper()
	spoken := new(http.Protocols)
	transport := &http.Transport{Protocols: spoken}
	t.Cleanup(transport.CloseIdleConnections)
	switch way {
	case "HTTP/1.1":
		spoken.SetHTTP1(true)
	case "HTTP/2 in clear":
		spoken.SetUnencryptedHTTP2(true)
	default:
		spoken.SetHTTP2(true)
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
		certificate, key := selfSigned(t)
		args = []string{"--tls-cert", certificate, "--tls-key", key}
		if strings.HasSuffix(way, "std") {
			args = append(args, "--http2", "std")
		}
	}
	return &http.Client{Transport: transport}, args
}

// startSlow runs a server with one request under way that hangs in its origin.
func startSlow(t *testing.T, way string, args ...string) (s *server, o *slowOrigin, answered chan answer) {
	t.Helper()
	o = startSlowOrigin(t)
	client, own := speaking(t, way)
	s = start(t, nil, append(append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--allow-source", o.url, "--allow-private-sources"}, own...), args...)...)
	answered = make(chan answer, 1)
	go func() {
		// A connection that is cut gives the zero answer.
		a, _ := ask(context.Background(), client, s.url+"/resize?image_url="+o.url+"/a.jpg&sizes=30x0&format=jpeg")
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
	for i, way := range ways {
		signal := []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[i%2]
		t.Run(signal.String()+" lets a running request end and exits with 0, over "+way, func(t *testing.T) {
			s, o, answered := startSlow(t, way)
			admin := "http://" + field(t, s.wait(t, "listening for operators"), "address")
			s.signal(t, signal)
			s.wait(t, `"msg":"stopping"`)
			_, address, _ := strings.Cut(s.url, "://")
			awaitRefusal(t, address)
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
		way           string
	}{
		{"a second SIGTERM exits with 143", syscall.SIGTERM, syscall.SIGTERM, 143, "HTTP/1.1"},
		{"a SIGINT after a SIGTERM exits with 130", syscall.SIGTERM, syscall.SIGINT, 130, "HTTP/1.1"},
		{"a stream in clear holds up none", syscall.SIGTERM, syscall.SIGTERM, 143, "HTTP/2 in clear"},
		{"a stream over TLS holds up none", syscall.SIGTERM, syscall.SIGTERM, 143, "HTTP/2 over TLS"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, _, _ := startSlow(t, test.way, "--drain-timeout", "10m")
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
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			s, _, answered := startSlow(t, way, "--drain-timeout", "200ms")
			s.signal(t, syscall.SIGTERM)
			s.wait(t, "requests cut off")
			if a := <-answered; a.status == http.StatusOK {
				t.Errorf("the hung request was answered %d", a.status)
			}
			if code := s.exit(t); code != 0 {
				t.Errorf("exit code = %d, want 0", code)
			}
		})
	}
}

func TestAnIdleServerStopsAtOnce(t *testing.T) {
	for _, way := range ways {
		t.Run("with an idle connection of "+way, func(t *testing.T) {
			client, args := speaking(t, way)
			s := start(t, nil, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
			if a, err := ask(t.Context(), client, s.url+"/healthz"); err != nil || a.status != http.StatusOK {
				t.Fatalf("answered %d, %v", a.status, err)
			}
			began := time.Now()
			s.signal(t, syscall.SIGTERM)
			if code := s.exit(t); code != 0 || time.Since(began) > 10*time.Second {
				t.Errorf("exit code = %d after %s, want 0 well before the drain timeout", code, time.Since(began))
			}
		})
	}
}
