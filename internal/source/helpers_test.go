package source_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
)

// newRouter makes a router and checks at the end that every body it gave was
// closed.
func newRouter(t testing.TB, cfg source.Config) *source.Router {
	t.Helper()
	return newLoggedRouter(t, cfg, io.Discard)
}

func newLoggedRouter(t testing.TB, cfg source.Config, log io.Writer) *source.Router {
	t.Helper()
	router, err := source.New(t.Context(), cfg, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if open := router.Stats().Open; open != 0 {
			t.Errorf("%d bodies were not closed", open)
		}
		if err := router.Close(); err != nil {
			t.Error(err)
		}
	})
	return router
}

// origin starts a server and gives settings that allow it and it alone.
func origin(t testing.TB, handler http.HandlerFunc) (*httptest.Server, source.Config) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server, allowing(t, server)
}

func allowing(t testing.TB, servers ...*httptest.Server) source.Config {
	t.Helper()
	cfg := source.Config{AllowPrivate: true, Retries: -1}
	for _, server := range servers {
		cfg.Allow = append(cfg.Allow, hostOf(t, server))
	}
	return cfg
}

func hostOf(t testing.TB, server *httptest.Server) string {
	t.Helper()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// read opens and reads all; the object's body is closed.
func read(t testing.TB, opener source.Opener, ref string) (source.Meta, string, error) {
	t.Helper()
	object, err := opener.Open(t.Context(), ref)
	if err != nil {
		return source.Meta{}, "", err
	}
	content, err := io.ReadAll(object.Body)
	if closeErr := object.Body.Close(); closeErr != nil {
		t.Errorf("close: %v", closeErr)
	}
	return object.Meta, string(content), err
}

// wantCode checks an error's code, and that the sentence for the client looks
// like one.
func wantCode(t testing.TB, err error, want media.Code) {
	t.Helper()
	var fault *media.Error
	if !errors.As(err, &fault) {
		t.Fatalf("error = %v, want *media.Error with %s", err, want)
	}
	if fault.Code != want {
		t.Errorf("error = %v, want code %s", err, want)
	}
	if !strings.HasSuffix(fault.Detail, ".") {
		t.Errorf("detail %q is not a sentence", fault.Detail)
	}
}

func discardLog() *slog.Logger { return slog.New(slog.DiscardHandler) }

// openFiles counts descriptors.
func openFiles(t testing.TB) int {
	t.Helper()
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if entries, err := os.ReadDir(dir); err == nil {
			return len(entries)
		}
	}
	t.Fatal("no folder lists the open descriptors")
	return 0
}

// eventually waits for what other goroutines have yet to do, such as closing
// a connection.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(10 * time.Second)
	for !done() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("%s did not happen within 10 s", what)
		}
	}
}
