package app_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/h2test"
	"github.com/spillway-media/spillway/internal/testpictures"
	"github.com/spillway-media/spillway/jobs"
)

// site is a program and a client that speaks one protocol to it.
type site struct {
	*plant
	url    string
	client *http.Client
}

// speakTo starts up, by HTTPS when secure, and speaks what spoken says.
func speakTo(t *testing.T, secure bool, spoken *http.Protocols, change func(*app.Config)) *site {
	t.Helper()
	p := run(t, app.Up, "listening", func(c *app.Config) {
		c.HTTPS = secure
		change(c)
	})
	transport := &http.Transport{Protocols: spoken}
	t.Cleanup(transport.CloseIdleConnections)
	s := &site{p, "http://" + p.address, &http.Client{Transport: transport, Timeout: limit}}
	if secure {
		s.url = "https://" + p.address
		transport.TLSClientConfig = &tls.Config{RootCAs: ownRoots(t, p)}
	}
	return s
}

// overEachProtocol runs a test against up once in every way to speak to it.
func overEachProtocol(t *testing.T, change func(*app.Config), test func(t *testing.T, s *site)) {
	for name, c := range map[string]struct {
		secure bool
		spoken *http.Protocols
	}{
		"HTTP/1.1":        {false, only((*http.Protocols).SetHTTP1)},
		"HTTP/2 in clear": {false, only((*http.Protocols).SetUnencryptedHTTP2)},
		"HTTP/2 over TLS": {true, only((*http.Protocols).SetHTTP2)},
	} {
		t.Run(name, func(t *testing.T) {
			test(t, speakTo(t, c.secure, c.spoken, change))
		})
	}
}

// ownRoots trusts the certificate that the program made, and no other.
func ownRoots(t *testing.T, p *plant) *x509.CertPool {
	t.Helper()
	content, err := os.ReadFile(p.cfg.OwnCertificate())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(content) {
		t.Fatal("the file holds no certificate")
	}
	return roots
}

func only(set func(*http.Protocols, bool)) *http.Protocols {
	spoken := new(http.Protocols)
	set(spoken, true)
	return spoken
}

// do asks with the token of up, and reads the answer.
func (s *site) do(t *testing.T, method, path string, body io.Reader) (*http.Response, []byte) {
	t.Helper()
	r := s.request(t, method, path, body)
	res, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, text
}

func (s *site) request(t *testing.T, method, path string, body io.Reader) *http.Request {
	t.Helper()
	token, err := os.ReadFile(s.cfg.OwnToken())
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return r
}

func TestListenersSpeakWhatTheSettingSays(t *testing.T) {
	clear2, tls2, tls1 := only((*http.Protocols).SetUnencryptedHTTP2), only((*http.Protocols).SetHTTP2), only((*http.Protocols).SetHTTP1)
	any2 := only((*http.Protocols).SetHTTP1)
	any2.SetHTTP2(true)
	for name, c := range map[string]struct {
		http2  string
		secure bool
		spoken *http.Protocols
		want   string // empty: no answer
	}{
		"priority in clear, for who knows":        {"priority", false, clear2, "HTTP/2.0"},
		"priority in clear, for all others":       {"priority", false, tls1, "HTTP/1.1"},
		"priority over TLS":                       {"priority", true, tls2, "HTTP/2.0"},
		"priority over TLS, for who speaks both":  {"priority", true, any2, "HTTP/2.0"},
		"priority over TLS, for who lacks HTTP/2": {"priority", true, tls1, "HTTP/1.1"},
		"std in clear":                            {"std", false, clear2, "HTTP/2.0"},
		"std over TLS":                            {"std", true, any2, "HTTP/2.0"},
		"off over TLS":                            {"off", true, any2, "HTTP/1.1"},
		"off in clear, for who insists":           {"off", false, clear2, ""},
		"off over TLS, for who insists":           {"off", true, tls2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := speakTo(t, c.secure, c.spoken, func(cfg *app.Config) { cfg.HTTP2 = c.http2 })
			res, err := s.client.Get(s.url + "/assets/lake.jpg?sizes=30x0&format=jpeg")
			if c.want == "" {
				if err == nil {
					t.Errorf("answered %s", res.Proto)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != http.StatusOK || res.Proto != c.want || !bytes.HasPrefix(body, []byte("\xff\xd8")) {
				t.Errorf("answered %s over %s, %d bytes, %v", res.Status, res.Proto, len(body), err)
			}
			listeners := 0
			if c.http2 == "priority" {
				listeners = 1
			}
			assertSeen(t, s, listeners)
		})
	}
}

// assertSeen holds /debug/h2 to what is spoken.
func assertSeen(t *testing.T, s *site, listeners int) {
	t.Helper()
	_, text := s.do(t, http.MethodGet, "/debug/h2?secret=1", nil)
	var seen struct {
		Listeners []struct {
			Listener    string
			Connections []struct {
				TLS     bool
				Streams []struct{ Path string }
			}
		}
	}
	if err := json.Unmarshal(text, &seen); err != nil || len(seen.Listeners) != listeners {
		t.Fatalf("/debug/h2 answers %s, %v", text, err)
	}
	if listeners == 0 || s.client.Transport.(*http.Transport).Protocols.HTTP1() && !s.client.Transport.(*http.Transport).Protocols.HTTP2() {
		return
	}
	l := seen.Listeners[0]
	if l.Listener != "public" || len(l.Connections) != 1 || len(l.Connections[0].Streams) != 1 || l.Connections[0].Streams[0].Path != "/debug/h2" {
		t.Errorf("/debug/h2 shows %s", text)
	}
}

func TestTheAdminListenerSpeaksHTTP2InClear(t *testing.T) {
	p := run(t, app.Serve, "listening", func(c *app.Config) { c.AdminListen = "127.0.0.1:0" })
	var line struct{ Address string }
	if err := json.Unmarshal([]byte(p.log.await(t, "listening for operators")), &line); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Protocols: only((*http.Protocols).SetUnencryptedHTTP2)}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport, Timeout: limit}).Get("http://" + line.Address + "/debug/h2")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.Proto != "HTTP/2.0" || !strings.Contains(string(text), `"listener": "public"`) || !strings.Contains(string(text), `"listener": "admin"`) {
		t.Errorf("over %s: %s, %v", res.Proto, text, err)
	}
	if status := get(t, "http://"+p.address+"/debug/h2"); status != http.StatusNotFound {
		t.Errorf("clients are answered %d", status)
	}
}

// A client learns by GOAWAY that the server stops: at first that there is a stop,
// then, a round trip later, which streams still count (RFC 9113, 6.8). What runs
// is answered, and the connection ends after it.
func TestADrainTellsItsClientsInTwoSteps(t *testing.T) {
	origin, asked, letGo := heldOrigin(t)
	p := run(t, app.Serve, "listening", func(c *app.Config) {
		c.AllowSource, c.AllowPrivateSources = []string{strings.TrimPrefix(origin, "http://")}, true
		c.DrainTimeout = limit
	})
	client := h2test.Dial(t, dial(t, p.address), h2test.Options{})
	client.Must(client.Open(1, true, h2test.Get("/resize?image_url="+origin+"/a.jpg&sizes=30x0&format=jpeg")...))
	<-asked
	ended := make(chan error, 1)
	go func() { ended <- p.stop() }()
	goAway := func(e h2test.Event) bool { return e.Type == http2.FrameGoAway }
	if first := client.Until("a GOAWAY", goAway); first.Last != 1<<31-1 || first.Code != http2.ErrCodeNo {
		t.Errorf("first: stream %d, %s", first.Last, first.Code)
	}
	if second := client.Until("another GOAWAY", goAway); second.Last != 1 || second.Code != http2.ErrCodeNo {
		t.Errorf("second: stream %d, %s", second.Last, second.Code)
	}
	close(letGo)
	if res := client.Response(1); res.Status != "200" || !bytes.HasPrefix(res.Body, []byte("\xff\xd8")) {
		t.Errorf("the picture that was under way is answered %s, %d bytes, reset %t", res.Status, len(res.Body), res.WasReset)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What the drain's end cuts off has given back what it held, and stands in the
// log, before the program calls itself stopped.
func TestWhatADrainCutsOffEndsBeforeTheProgram(t *testing.T) {
	for name, served := range map[string]string{"of this program": "priority", "of Go": "std"} {
		t.Run(name, func(t *testing.T) {
			p := run(t, app.Serve, "listening", func(c *app.Config) {
				c.HTTP2, c.DrainTimeout = served, time.Second
			})
			client := h2test.Dial(t, dial(t, p.address), h2test.Options{Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize}}})
			for stream := uint32(1); stream < 40; stream += 2 {
				client.Must(client.Open(stream, true, h2test.Get("/resize?image_url=lake.jpg&sizes=900x0&format=png")...))
			}
			client.Until("a header", func(e h2test.Event) bool { return e.Type == http2.FrameHeaders })
			if err := p.stop(); err != nil {
				t.Fatal(err)
			}
			p.log.await(t, "stopped")
			before, _, _ := strings.Cut(p.log.text(), `"msg":"stopped","spools_open":0`)
			if n := strings.Count(before, `"msg":"request"`); n != 20 {
				t.Errorf("%d of 20 requests are in the log before the program stopped:\n%s", n, p.log.text())
			}
		})
	}
}

// heldOrigin has a picture, which it gives once letGo is closed.
func heldOrigin(t *testing.T) (url string, asked <-chan struct{}, letGo chan struct{}) {
	t.Helper()
	told := make(chan struct{}, 1)
	letGo = make(chan struct{})
	picture := testpictures.JPEG(testpictures.Scene(90, 60), 90)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told <- struct{}{}
		select {
		case <-letGo:
			_, _ = w.Write(picture)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, told, letGo
}

// shake makes a TLS connection and tells what was agreed on.
func shake(address string, config *tls.Config) (tls.ConnectionState, error) {
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: limit}, "tcp", address, config)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer func() { _ = c.Close() }()
	return c.ConnectionState(), nil
}

func TestUpVouchesForItself(t *testing.T) {
	data := t.TempDir()
	secure := func(c *app.Config) { c.Data, c.HTTPS = data, true }
	p := run(t, app.Up, "listening", secure)
	roots := ownRoots(t, p)
	for _, name := range []string{"localhost", "127.0.0.1"} {
		state, err := shake(p.address, &tls.Config{RootCAs: roots, ServerName: name, NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatalf("as %s: %v", name, err)
		}
		if state.Version != tls.VersionTLS13 || state.NegotiatedProtocol != "h2" {
			t.Errorf("agreed on %s and %q", tls.VersionName(state.Version), state.NegotiatedProtocol)
		}
		sum := sha256.Sum256(state.PeerCertificates[0].Raw)
		var line struct {
			URL         string
			Certificate string `json:"certificate_sha256"`
		}
		if err := json.Unmarshal([]byte(p.log.await(t, "listening")), &line); err != nil {
			t.Fatal(err)
		}
		if want := hex.EncodeToString(sum[:]); strings.ToLower(strings.ReplaceAll(line.Certificate, ":", "")) != want || !strings.HasPrefix(line.URL, "https://") {
			t.Errorf("the log tells %q of %s, want %s", line.Certificate, line.URL, want)
		}
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	again := run(t, app.Up, "listening", secure)
	if _, err := shake(again.address, &tls.Config{RootCAs: roots, ServerName: "localhost"}); err != nil {
		t.Errorf("after another start: %v", err)
	}
}

// RFC 9113, 9.2: TLS 1.2 at least, and none of the suites in its appendix A.
func TestOldTLSIsRefused(t *testing.T) {
	p := run(t, app.Up, "listening", func(c *app.Config) { c.HTTPS = true })
	roots := ownRoots(t, p)
	for name, c := range map[string]struct {
		config *tls.Config
		ok     bool
	}{
		"TLS 1.1":                {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, false},
		"TLS 1.2 with CBC":       {&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}}, false},
		"TLS 1.2 with GCM":       {&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}}, true},
		"TLS 1.2 with ChaCha20":  {&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256}}, true},
		"TLS 1.3":                {&tls.Config{MinVersion: tls.VersionTLS13}, true},
		"only a protocol of old": {&tls.Config{NextProtos: []string{"spdy/3"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			config := c.config.Clone()
			config.RootCAs, config.ServerName = roots, "localhost"
			if _, err := shake(p.address, config); (err == nil) != c.ok {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestUploadsComeOverEachProtocol(t *testing.T) {
	const size = 40 << 20 // many times the window of a connection
	picture := testpictures.JPEG(testpictures.Scene(90, 60), 90)
	overEachProtocol(t, func(cfg *app.Config) { cfg.MaxSourceBytes = size }, func(t *testing.T, s *site) {
		long := func(n int) io.Reader {
			// Without a length, as a body is that is made while it is sent.
			return io.MultiReader(bytes.NewReader(picture), io.LimitReader(zeros{}, int64(n-len(picture))))
		}
		res, text := s.do(t, http.MethodPost, "/v1/uploads", long(size))
		if want := fmt.Sprintf(`"bytes":%d,"content_type":"image/jpeg"`, size); res.StatusCode != http.StatusCreated || !strings.Contains(string(text), want) {
			t.Errorf("answered %s %s", res.Status, text)
		}
		r := s.request(t, http.MethodPost, "/v1/uploads", long(size+1))
		if res, err := s.client.Do(r); err == nil {
			// Who is cut off while it sends may miss the answer.
			_ = res.Body.Close()
			if res.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("too much is answered %s", res.Status)
			}
		}
		if res, text := s.do(t, http.MethodPost, "/v1/uploads", bytes.NewReader(picture)); res.StatusCode != http.StatusCreated {
			t.Errorf("the next is answered %s %s", res.Status, text)
		}
	})
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestEventsComeAtOnceOverEachProtocol(t *testing.T) {
	overEachProtocol(t, func(*app.Config) {}, func(t *testing.T, s *site) {
		later := time.Now().Add(time.Hour).Format(time.RFC3339)
		res, text := s.do(t, http.MethodPost, "/v1/jobs", strings.NewReader(
			`{"type": "image.derive", "input": "lake.jpg", "params": {"sizes": "30x0"}, "run_at": "`+later+`"}`))
		var job jobs.Document
		if err := json.Unmarshal(text, &job); err != nil || res.StatusCode != http.StatusCreated {
			t.Fatalf("answered %s %s", res.Status, text)
		}
		stream, err := s.client.Do(s.request(t, http.MethodGet, fmt.Sprintf("/v1/jobs/%d/events", job.ID), nil))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = stream.Body.Close() }()
		events := bufio.NewScanner(stream.Body)
		await := func(line string) {
			t.Helper()
			for events.Scan() {
				if events.Text() == line {
					return
				}
			}
			t.Fatalf("the stream has ended without %q: %v", line, events.Err())
		}
		// The job waits for an hour: nothing follows that would push this out.
		await("event: state")
		if res, text := s.do(t, http.MethodPost, fmt.Sprintf("/v1/jobs/%d/cancel", job.ID), strings.NewReader("{}")); res.StatusCode != http.StatusOK {
			t.Fatalf("answered %s %s", res.Status, text)
		}
		await("event: end")
	})
}
