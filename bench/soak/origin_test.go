package soak_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/testpictures"
)

// startOrigins is a web server with pictures and with every kind of trouble an
// origin can be.
func startOrigins(t *testing.T) string {
	t.Helper()
	picture := testpictures.JPEG(testpictures.Photo(800, 600), 88)
	mux := http.NewServeMux()
	mux.HandleFunc("/good/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"good"`)
		w.Header().Set("Cache-Control", "max-age=1")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(picture))
	})
	mux.HandleFunc("/late/", func(w http.ResponseWriter, r *http.Request) {
		if pause(r, 2*time.Second) {
			_, _ = w.Write(picture)
		}
	})
	mux.HandleFunc("/trickle/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(picture)))
		for rest := picture; len(rest) > 0; {
			n := min(4096, len(rest))
			if _, err := w.Write(rest[:n]); err != nil || !pause(r, 20*time.Millisecond) {
				return
			}
			_ = http.NewResponseController(w).Flush()
			rest = rest[n:]
		}
	})
	mux.HandleFunc("/cut/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(picture)))
		_, _ = w.Write(picture[:len(picture)/2])
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/broken/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "out of order", http.StatusInternalServerError)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// pause waits, and is false when the server has left meanwhile.
func pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
