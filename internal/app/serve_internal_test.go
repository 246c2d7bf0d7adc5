package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// reader reads bodies of /takes itself, and shows what it got of any.
type reader struct{}

func (reader) TakesBody(r *http.Request) bool { return r.URL.Path == "/takes" }

func (reader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(text)
}

func TestBodiesGoToTheRoutesThatWantThem(t *testing.T) {
	long := strings.Repeat("x", longestBody+1)
	for name, c := range map[string]struct {
		path, body string
		status     int
		want       string
	}{
		"a body that is wanted":               {"/takes", "hello", http.StatusOK, "hello"},
		"a long one that is wanted":           {"/takes", long, http.StatusOK, long},
		"one that is not is read and dropped": {"/other", "hello", http.StatusOK, ""},
		"a long one that is not is refused":   {"/other", long, http.StatusRequestEntityTooLarge, "This route takes no body.\n"},
	} {
		for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
			t.Run(name+" over "+version, func(t *testing.T) {
				server := httptest.NewUnstartedServer(takeBodies(reader{}, time.Minute))
				server.EnableHTTP2 = version == "HTTP/2.0"
				server.StartTLS()
				defer server.Close()
				res, err := server.Client().Post(server.URL+c.path, "text/plain", strings.NewReader(c.body))
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				got, err := io.ReadAll(res.Body)
				if err != nil || res.Proto != version || res.StatusCode != c.status || string(got) != c.want {
					t.Errorf("got %d, %d bytes, %v over %s", res.StatusCode, len(got), err, res.Proto)
				}
			})
		}
	}
}
