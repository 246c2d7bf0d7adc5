package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkAnswer is the cost of the edge itself: parameters, tag, headers,
// log, metrics and write, with a cache that has the picture.
func BenchmarkAnswer(b *testing.B) {
	s := newBench(b, nil)
	etag := s.get("/resize?image_url=a.jpg&sizes=300x0").Header.Get("ETag")
	for s.images.Stats().Cache.Entries == 0 {
		s.get("/resize?image_url=a.jpg&sizes=300x0")
	}
	for name, header := range map[string]string{"cached": "", "not-modified": etag} {
		b.Run("kind="+name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, "/resize?image_url=a.jpg&sizes=300x0", nil)
			if header != "" {
				r.Header.Set("If-None-Match", header)
			}
			b.ReportAllocs()
			for b.Loop() {
				s.public.ServeHTTP(discard{http.Header{}}, r)
			}
		})
	}
}

// discard is a client that keeps nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return io.Discard.Write(p) }
func (d discard) WriteHeader(int)             {}
