package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
	"github.com/spillway-media/spillway/internal/transform"
)

const limit = 30 * time.Second

// running is the program in this process.
type running struct {
	address string
	stop    func() error // ends it and gives what Run answered
	spools  <-chan int   // how many its last word says are open
}

// start runs the program with a root of one picture, a.jpg.
func start(t *testing.T, change func(*app.Config)) running {
	t.Helper()
	root := t.TempDir()
	picture := testpictures.JPEG(testpictures.Scene(90, 60), 90)
	if err := os.WriteFile(filepath.Join(root, "a.jpg"), picture, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := settings.Defaults()
	cfg.Listen, cfg.SourceRoot = "127.0.0.1:0", root
	change(&cfg)
	if err := app.Check(cfg); err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, cfg, app.Serve, app.NewLogger(cfg.Observing, writer, false))
		_ = writer.Close()
	}()
	addresses, spools := make(chan string, 1), make(chan int, 1)
	go listenToLog(reader, addresses, spools)
	stop := func() error {
		cancel()
		select {
		case err := <-ended:
			ended <- err
			return err
		case <-time.After(limit):
			return errors.New("the program does not end")
		}
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("the program ended badly: %v", err)
		}
	})
	select {
	case address := <-addresses:
		return running{address, stop, spools}
	case <-time.After(limit):
		t.Fatal("the program does not listen")
		return running{}
	}
}

// listenToLog reads the log to its end and picks out the address, and what is
// left at the end.
func listenToLog(log io.Reader, addresses chan<- string, spools chan<- int) {
	for scanner := bufio.NewScanner(log); scanner.Scan(); {
		var line struct {
			Msg, Address string
			Spools       int `json:"spools_open"`
		}
		if json.Unmarshal(scanner.Bytes(), &line) != nil {
			continue
		}
		switch line.Msg {
		case "listening":
			addresses <- line.Address
		case "stopped":
			spools <- line.Spools
		}
	}
}

func get(t *testing.T, url string) int {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: limit}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode
}

// awaitClosed reads until the server closes the connection.
func awaitClosed(t *testing.T, connection net.Conn) string {
	t.Helper()
	if err := connection.SetReadDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(connection)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the server still holds the connection after %s", limit)
	}
	return string(answer)
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func TestSlowClientsAreDropped(t *testing.T) {
	p := start(t, func(c *app.Config) { c.HeaderTimeout, c.IdleTimeout = 200*time.Millisecond, time.Second })
	t.Run("one that does not send its header to the end", func(t *testing.T) {
		connection := dial(t, p.address)
		_, _ = connection.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\n"))
		awaitClosed(t, connection)
	})
	t.Run("one that announces a body and does not send it", func(t *testing.T) {
		connection := dial(t, p.address)
		_, _ = connection.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"))
		if answer := awaitClosed(t, connection); !strings.HasPrefix(answer, "HTTP/1.1 408") {
			t.Errorf("answer = %q, want 408 and an end", answer)
		}
	})
	t.Run("one that sends a body without end", func(t *testing.T) {
		connection := dial(t, p.address)
		_, _ = connection.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100000)))
		if answer := awaitClosed(t, connection); !strings.HasPrefix(answer, "HTTP/1.1 413") {
			t.Errorf("answer = %q, want 413 and an end", answer)
		}
	})
	t.Run("one that sends a small body is answered as without", func(t *testing.T) {
		connection := dial(t, p.address)
		_, _ = connection.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"))
		if answer := awaitClosed(t, connection); !strings.HasPrefix(answer, "HTTP/1.1 200") {
			t.Errorf("answer = %q, want 200", answer)
		}
	})
	t.Run("one that keeps its connection unused", func(t *testing.T) {
		connection := dial(t, p.address)
		_, _ = connection.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"))
		awaitClosed(t, connection)
	})
	t.Run("one whose header has no end is refused", func(t *testing.T) {
		connection := dial(t, p.address)
		_, _ = connection.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 200<<10)))
		if answer := awaitClosed(t, connection); !strings.HasPrefix(answer, "HTTP/1.1 431") {
			t.Errorf("answer = %.100q, want 431", answer)
		}
	})
}

// net/http only watches for the end of a connection once the body of a request
// was read, which no route does.
func TestAClientThatLeavesIsNoticedThoughItSentABody(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	origin := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(ended)
	}))
	defer origin.Close()
	p := start(t, func(c *app.Config) {
		c.AllowSource, c.AllowPrivateSources = []string{strings.TrimPrefix(origin.URL, "http://")}, true
		c.SourceHeaderTimeout, c.SourceTimeout, c.SourceRetries = time.Hour, time.Hour, 0
	})
	connection := dial(t, p.address)
	_, _ = connection.Write([]byte("GET /resize?image_url=" + origin.URL + "/a.jpg HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"))
	<-began
	_ = connection.Close()
	select {
	case <-ended:
	case <-time.After(limit):
		t.Error("the source is still fetched for nobody")
	}
}

func TestTracesReachTheCollectorBeforeTheEnd(t *testing.T) {
	asked := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer collector.Close()
	tests := []struct {
		name   string
		change func(*app.Config)
		env    string
	}{
		{"a setting with a host only gets the usual path", func(c *app.Config) { c.OTLPEndpoint = collector.URL }, ""},
		{"a setting with a path is taken as it is", func(c *app.Config) { c.OTLPEndpoint = collector.URL + "/v1/traces" }, ""},
		{"the usual variable works, too", func(*app.Config) {}, collector.URL},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", test.env)
			p := start(t, test.change)
			if status := get(t, "http://"+p.address+"/assets/a.jpg?sizes=30x0"); status != http.StatusOK {
				t.Fatalf("status = %d", status)
			}
			if err := p.stop(); err != nil {
				t.Fatal(err)
			}
			select {
			case path := <-asked:
				if path != "/v1/traces" {
					t.Errorf("the collector was asked at %s", path)
				}
			default:
				t.Error("the program ended without sending its spans")
			}
		})
	}
}

func TestACollectorThatHangsDoesNotHoldUpTheEnd(t *testing.T) {
	hang := make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer collector.Close()
	defer close(hang)
	p := start(t, func(c *app.Config) { c.OTLPEndpoint = collector.URL })
	get(t, "http://"+p.address+"/assets/a.jpg?sizes=30x0")
	began := time.Now()
	if err := p.stop(); err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("ended after %s, %v", time.Since(began), err)
	}
}

func TestRunFailsOnWhatItCannotBuild(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	folder := t.TempDir()
	notPEM := filepath.Join(folder, "x.pem")
	if err := os.WriteFile(notPEM, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*app.Config)
		want   string
	}{
		{"a taken port", func(c *app.Config) { c.Listen = taken.Addr().String() }, "listen: " + taken.Addr().String() + " is already in use"},
		{"a taken port for operators", func(c *app.Config) { c.AdminListen = taken.Addr().String() }, "admin-listen: "},
		{"an address of another machine", func(c *app.Config) { c.Listen = "192.0.2.1:0" }, "listen: 192.0.2.1:0 is not an address of this machine"},
		{"a host that is none", func(c *app.Config) { c.Listen = "no.such.host.invalid:0" }, "listen: cannot listen on no.such.host.invalid:0"},
		{"a certificate that is none", func(c *app.Config) { c.TLSCert, c.TLSKey = notPEM, notPEM }, "load certificate"},
		{"a root that is gone", func(c *app.Config) { c.SourceRoot = filepath.Join(folder, "gone") }, "open sources"},
		{"a spool folder that is gone", func(c *app.Config) { c.SpoolDir = filepath.Join(folder, "gone") }, "make spools"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := settings.Defaults()
			cfg.Listen = "127.0.0.1:0"
			test.change(&cfg)
			err := app.Run(t.Context(), cfg, app.Serve, slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

func TestAStopWhileDemoPicturesAreMadeIsOrderly(t *testing.T) {
	cfg := settings.Defaults()
	cfg.Listen, cfg.Data = "127.0.0.1:0", t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var told bytes.Buffer
	if err := app.Run(ctx, cfg, app.Up, slog.New(slog.NewTextHandler(&told, nil))); err != nil {
		t.Errorf("ended with %v", err)
	}
	if text := told.String(); !strings.Contains(text, "msg=stopped") || strings.Contains(text, "listening") {
		t.Errorf("log = %s", text)
	}
	left, err := os.ReadDir(filepath.Join(cfg.Data, "demo"))
	if err != nil || len(left) > 0 {
		t.Errorf("files %v, %v; want none", left, err)
	}
}

func TestNewLogger(t *testing.T) {
	tests := []struct {
		name, format string
		terminal     bool
		want         string
	}{
		{"auto is text on a terminal", "auto", true, `level=WARN msg=hello`},
		{"auto is JSON elsewhere", "auto", false, `"msg":"hello"`},
		{"text is text everywhere", "text", false, `level=WARN msg=hello`},
		{"json is JSON everywhere", "json", true, `"msg":"hello"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			log := app.NewLogger(settings.Observing{LogFormat: test.format, LogLevel: "warn"}, &out, test.terminal)
			log.Info("too low")
			log.Warn("hello")
			if got := out.String(); !strings.Contains(got, test.want) || strings.Contains(got, "too low") {
				t.Errorf("log = %q, want %q only", got, test.want)
			}
		})
	}
}

func TestLocalRefusesWhatIsNoFile(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	local, err := app.NewLocal(settings.Defaults(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	tests := []struct {
		name, path string
		want       media.Code
	}{
		{"a pipe would block for ever", pipe, media.CodeSourceForbidden},
		{"a folder has no bytes", folder, media.CodeSourceForbidden},
		{"a path with nothing there", filepath.Join(folder, "none"), media.CodeSourceNotFound},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := local.Do(t.Context(), transform.Job{Ref: test.path, Request: media.NewRequest()})
			if fault, ok := errors.AsType[*media.Error](err); !ok || fault.Code != test.want {
				t.Errorf("error = %v, want %s", err, test.want)
			}
		})
	}
}

func TestCheckPassesTheDefaults(t *testing.T) {
	if err := app.Check(settings.Defaults()); err != nil {
		t.Error(err)
	}
}

func TestCheckTellsEveryFaultOnce(t *testing.T) {
	cfg := settings.Defaults()
	cfg.Queue, cfg.AllowSource = -1, []string{"no host/at all"}
	cfg.Presets = map[string]string{"card": "sizes=huge", "other": "colour=red"}
	err := app.Check(cfg)
	for _, part := range []string{"queue: ", "allow-source", "card", "other"} {
		if err == nil || strings.Count(err.Error(), part) != 1 {
			t.Errorf("faults do not tell of %q once:\n%v", part, err)
		}
	}
}
