package interop_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/h2"
)

// chatter answers with all that HTTP/2 has around a body: a 103 before it, and
// trailers behind it, which tell the request's.
func chatter(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Link", "</style.css>; rel=preload")
	w.WriteHeader(http.StatusEarlyHints)
	w.Header().Set("Trailer", "Body-Bytes, Checksum")
	n, err := io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/plain")
	_, _ = fmt.Fprintf(w, "%d bytes, %v\n", n, err)
	// Else the answer had a Content-Length, behind which curl reads nothing.
	_ = http.NewResponseController(w).Flush()
	w.Header().Set("Body-Bytes", fmt.Sprint(n))
	w.Header().Set("Checksum", r.Trailer.Get("Checksum"))
}

// handle serves a handler by package h2 alone until the test ends.
func handle(t *testing.T, at site, handler http.HandlerFunc) *url.URL {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hs := &http.Server{Handler: handler, ReadHeaderTimeout: patience}
	address := &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: "/"}
	if at.secure {
		pair, err := tls.LoadX509KeyPair(shared.cert, shared.key)
		if err != nil {
			t.Fatal(err)
		}
		hs.TLSConfig, address.Scheme = &tls.Config{Certificates: []tls.Certificate{pair}}, "https"
	}
	if _, err := h2.Configure(hs, h2.Config{}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		if at.secure {
			ended <- hs.ServeTLS(listener, "", "")
		} else {
			ended <- hs.Serve(listener)
		}
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := hs.Shutdown(ctx); err != nil {
			t.Errorf("shut down: %v", err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return address
}

// What no route of the program answers with is shown by a handler of the test's.
func TestEarlyHintsAndTrailersReachPeers(t *testing.T) {
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := map[bool]string{true: "--http2", false: "--http2-prior-knowledge"}
	for _, at := range sites {
		t.Run("curl "+at.name, func(t *testing.T) {
			address := handle(t, at, chatter)
			fields := filepath.Join(t.TempDir(), "fields")
			got := mustRun(t, "curl", "-sSk", "-D", fields, flags[at.secure], "--data-binary", "@"+body, address.String())
			header, err := os.ReadFile(fields)
			if err != nil {
				t.Fatal(err)
			}
			shown := strings.ReplaceAll(string(header), "\r", "") + got.out
			for _, want := range []string{
				"HTTP/2 103 \nlink: </style.css>; rel=preload\n\n", "HTTP/2 200 \n", "100000 bytes, <nil>\n", "body-bytes: 100000\n",
			} {
				if !strings.Contains(shown, want) {
					t.Errorf("curl shows no %q:\n%s", want, shown)
				}
			}
		})
		t.Run("nghttp "+at.name, func(t *testing.T) {
			address := handle(t, at, chatter)
			got := mustRun(t, "nghttp", "-nvy", "-d", body, "-H", ":method: POST", "--trailer", "checksum: 12345", address.String())
			log := colours.ReplaceAllString(got.out, "")
			sum := tally(t, log)
			if sum.status["103"] != 1 || sum.status["200"] != 1 || sum.frames["recv HEADERS"] != 3 || sum.ended != 1 {
				t.Errorf("it saw %+v", sum)
			}
			for _, want := range []string{") link: </style.css>; rel=preload", ") body-bytes: 100000", ") checksum: 12345"} {
				if !strings.Contains(log, want) {
					t.Errorf("nghttp shows no %q:\n%s", want, log)
				}
			}
		})
	}
}
