package h2test_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/internal/h2test"
)

// serve runs Go's own server, which is what this client is true to.
func serve(t *testing.T, handler http.HandlerFunc) *h2test.Listener {
	t.Helper()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: handler, Protocols: &protocols, ReadHeaderTimeout: time.Minute}
	listener := h2test.Listen()
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return listener
}

func dial(t *testing.T, l *h2test.Listener, opts h2test.Options) *h2test.Client {
	t.Helper()
	conn, err := l.Dial()
	if err != nil {
		t.Fatal(err)
	}
	return h2test.Dial(t, conn, opts)
}

func TestResponseHoldsAllOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Trailer", "Sum")
			_, _ = w.Write(body)
			w.Header().Set("Sum", "7")
		}), h2test.Options{})
		c.Must(c.Open(1, false, h2test.Post("/")...))
		c.Must(c.Framer.WriteData(1, true, []byte("picture")))
		r := c.Response(1)
		if r.Status != "200" || string(r.Body) != "picture" || len(r.Interim) != 1 || r.Trailers == nil || r.Trailers.Field("sum") != "7" || r.WasReset {
			t.Errorf("got %+v", r)
		}
	})
}

func TestGoAwayIsTheReasonOfAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, serve(t, func(http.ResponseWriter, *http.Request) {}), h2test.Options{})
		c.Must(c.Framer.WriteWindowUpdate(0, 0))
		if e := c.GoAway(); e.Code != http2.ErrCodeProtocol {
			t.Errorf("ended with %v, want PROTOCOL_ERROR", e.Code)
		}
	})
}

func TestResetIsPartOfAResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), h2test.Options{})
		c.Must(c.Open(1, true, h2test.Get("/")...))
		if r := c.Response(1); !r.WasReset || r.Reset != http2.ErrCodeInternal {
			t.Errorf("got %+v, want RST_STREAM INTERNAL_ERROR", r)
		}
	})
}
