package source

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
)

// TestRedirectsIntoPrivateNetworks needs an origin that counts as public on a
// machine that has only private addresses, so it puts a dialer of its own
// between: names below .public lead to the test's servers past the guard,
// all others through it.
func TestRedirectsIntoPrivateNetworks(t *testing.T) {
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the private server was asked")
	}))
	t.Cleanup(private.Close)
	privatePort := netip.MustParseAddrPort(private.Listener.Addr().String()).Port()
	location := ""
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusFound)
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)

	cfg := Config{Allow: []string{"*"}, Retries: -1}.withDefaults()
	for _, entry := range []string{"127.0.0.1", "localhost", "[::1]"} {
		cfg.Allow = append(cfg.Allow, entry+":"+portText(privatePort))
	}
	allow, err := parseAllow(cfg.Allow)
	if err != nil {
		t.Fatal(err)
	}
	w := newWeb(cfg, allow, newOrigins(cfg), slog.New(slog.DiscardHandler))
	t.Cleanup(w.transport.CloseIdleConnections)
	guarded := w.transport.DialContext
	w.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		switch host, port, _ := net.SplitHostPort(address); {
		case strings.HasSuffix(host, ".public") && port == "443":
			return net.Dial("tcp", secure.Listener.Addr().String())
		case strings.HasSuffix(host, ".public"):
			return net.Dial("tcp", plain.Listener.Addr().String())
		}
		return guarded(ctx, network, address)
	}
	w.transport.TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	w.transport.TLSClientConfig.ServerName = "example.com" // the test certificate's name

	cases := []struct{ name, from, to string }{
		{"to loopback", "http://a.public/", "http://127.0.0.1:" + portText(privatePort) + "/"},
		{"to a name of loopback", "http://a.public/", "http://localhost:" + portText(privatePort) + "/"},
		{"to IPv6 loopback", "http://a.public/", "http://[::1]:" + portText(privatePort) + "/"},
		{"to the metadata service", "http://a.public/", "http://169.254.169.254/latest/meta-data/"},
		{"to a port that is not allowed", "http://a.public/", "http://b.public:8080/"},
		{"from https to http", "https://a.public/", "http://b.public/"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			location = c.to
			object, err := w.open(t.Context(), c.from, Meta{})
			if err == nil {
				content, _ := io.ReadAll(object.Body)
				object.Body.Close()
				t.Fatalf("it was opened: %q", content)
			}
			if codeOf(err) != media.CodeSourceForbidden {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func portText(port uint16) string { return strconv.Itoa(int(port)) }

// TestHTTP2Origins checks over HTTP/2 what web_test.go checks over HTTP/1.1,
// where the two differ on the wire.
func TestHTTP2Origins(t *testing.T) {
	asked := ""
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.RequestURI
		if r.ProtoMajor != 2 {
			t.Errorf("the origin was asked over %s", r.Proto)
		}
		io.WriteString(w, "some bytes")
		w.(http.Flusher).Flush()
		if r.URL.Query().Has("cut") {
			panic(http.ErrAbortHandler)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	host := server.Listener.Addr().String()
	cfg := Config{AllowPrivate: true, Allow: []string{host}, Retries: -1}.withDefaults()
	allow, err := parseAllow(cfg.Allow)
	if err != nil {
		t.Fatal(err)
	}
	w := newWeb(cfg, allow, newOrigins(cfg), slog.New(slog.DiscardHandler))
	t.Cleanup(w.transport.CloseIdleConnections)
	w.transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()

	for path, want := range map[string]media.Code{"/a%20(b)+c%2f.jpg?x=1": "", "/a.jpg?cut": media.CodeSourceFailed} {
		object, err := w.open(t.Context(), "https://"+host+path, Meta{})
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(object.Body)
		object.Body.Close()
		if string(content) != "some bytes" || asked != path || object.OpenEnded || object.Size != -1 {
			t.Errorf("%s: asked %s, content %q, meta %+v", path, asked, content, object.Meta)
		}
		if (err == nil) != (want == "") || (err != nil && codeOf(err) != want) {
			t.Errorf("%s: error = %v", path, err)
		}
	}
}
