package app

import (
	"io"
	"net"
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

func TestAURLIsOneToGoTo(t *testing.T) {
	for _, test := range []struct {
		name, listen string
		secure       bool
		want         string
	}{
		{"an address is kept", "127.0.0.1:0", false, "http://127.0.0.1:PORT/"},
		{"all addresses are this machine", ":0", false, "http://localhost:PORT/"},
		{"all of the old kind, too, as the certificate has it", "0.0.0.0:0", true, "https://localhost:PORT/"},
	} {
		t.Run(test.name, func(t *testing.T) {
			listener, err := net.Listen("tcp", test.listen)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = listener.Close() }()
			_, port, err := net.SplitHostPort(listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			d := &door{listener: listener, secure: test.secure}
			if want := strings.ReplaceAll(test.want, "PORT", port); d.url() != want {
				t.Errorf("url %s, want %s", d.url(), want)
			}
		})
	}
}
