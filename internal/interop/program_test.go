package interop_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"image"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/testpictures"
)

const (
	// pictures is how many there are, and how many Chromium's page shows.
	pictures = 60
	// patience is how long a peer or the server may take at most.
	patience = time.Minute
)

// shared is what all tests use and none changes.
var shared struct {
	folder     string
	program    string // the binary
	root       string // NN.jpg
	cert, key  string
	token      string // what the jobs API takes,
	tokensFile string // as the server knows it
}

func TestMain(m *testing.M) {
	os.Exit(prepare(m))
}

func prepare(m *testing.M) int {
	folder, err := os.MkdirTemp("", "spillway-interop-")
	if err == nil {
		defer func() { _ = os.RemoveAll(folder) }()
		shared.folder = folder
		err = errors.Join(build(), paint(), certify())
	}
	if err == nil {
		err = makeToken()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare:", err)
		return 1
	}
	return m.Run()
}

func build() error {
	shared.program = filepath.Join(shared.folder, "spillway")
	if out, err := exec.Command("go", "build", "-o", shared.program, "../../cmd/spillway").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// paint makes pictures that differ, as windows on one that is large.
func paint() error {
	shared.root = filepath.Join(shared.folder, "root")
	if err := os.Mkdir(shared.root, 0o755); err != nil {
		return err
	}
	photo := testpictures.Photo(1240, 1000)
	for n := range pictures {
		window := image.Rect(0, 0, 640, 480).Add(image.Pt(n%10*60, n/10*100))
		file := testpictures.JPEG(photo.SubImage(window), 85)
		if err := os.WriteFile(filepath.Join(shared.root, fmt.Sprintf("%02d.jpg", n)), file, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// certify makes a certificate for 127.0.0.1 that nobody vouches for.
func certify() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	shared.cert, shared.key = filepath.Join(shared.folder, "cert.pem"), filepath.Join(shared.folder, "key.pem")
	return errors.Join(writePEM(shared.cert, "CERTIFICATE", cert), writePEM(shared.key, "PRIVATE KEY", secret))
}

func writePEM(path, kind string, data []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600)
}

func makeToken() error {
	shared.tokensFile = filepath.Join(shared.folder, "tokens")
	out, err := exec.Command(shared.program, "token", "interop", "--append", shared.tokensFile, "--json").Output()
	if err != nil {
		return fmt.Errorf("make a token: %w", err)
	}
	var made struct{ Token string }
	err = json.Unmarshal(out, &made)
	shared.token = made.Token
	return err
}

// site is one way to reach a server.
type site struct {
	name   string
	secure bool
	args   []string // of the server, besides
}

// sites are the two on which a client can begin HTTP/2.
var sites = []site{
	{name: "over TLS", secure: true},
	{name: "in the clear"},
}

// server is a `spillway serve` that runs.
type server struct {
	site
	url     *url.URL
	cmd     *exec.Cmd
	exited  chan struct{} // closed when it is gone and its log is whole
	stderr  strings.Builder
	stopped sync.Once

	mu    sync.Mutex
	log   []entry
	lines []string // of the log that are no requests
	noted chan struct{}
}

// entry is what the server logs of a request.
type entry struct {
	Level, Msg, URL string
	Route           string
	Status          int
	Bytes           int64
}

// serve runs the program on a free port until the test ends, which fails unless
// it stops in order and has logged no error.
func serve(t *testing.T, at site) *server {
	t.Helper()
	args := []string{
		"serve", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--source-root", shared.root,
		"--database", "sqlite://" + filepath.Join(t.TempDir(), "jobs.db"), "--api-token-file", shared.tokensFile, "--log-format", "json",
	}
	if at.secure {
		args = append(args, "--tls-cert", shared.cert, "--tls-key", shared.key)
	}
	return start(t, at, append(args, at.args...)...)
}

func start(t *testing.T, at site, args ...string) *server {
	t.Helper()
	s := &server{site: at, exited: make(chan struct{}), noted: make(chan struct{}, 1)}
	s.cmd = exec.Command(shared.program, args...)
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.cmd.Stderr = &s.stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error)
	listening := make(chan string, 1)
	go func() {
		// The kernel takes the end of the thread that started a process for
		// the end of its parent, so this thread stays until the server is gone.
		runtime.LockOSThread()
		defer close(s.exited)
		err := s.cmd.Start()
		started <- err
		if err == nil {
			s.read(stdout, listening)
			_ = s.cmd.Wait() // how it ended is in its ProcessState
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("start the server: %v", err)
	}
	t.Cleanup(func() { s.stop(t) })
	select {
	case address := <-listening:
		if s.url, err = url.Parse(address); err != nil {
			t.Fatal(err)
		}
	case <-s.exited:
		t.Fatalf("the server ended before it listened: %s", s.stderr.String())
	case <-time.After(patience):
		t.Fatal("the server does not listen")
	}
	return s
}

// read keeps the log until the server is gone.
func (s *server) read(from io.Reader, listening chan<- string) {
	in := bufio.NewReader(from)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var e entry
		if json.Unmarshal([]byte(line), &e) != nil {
			e = entry{Level: "ERROR"} // whatever it is, it is not a log
		}
		s.note(e, line)
		if e.Msg == "listening" {
			listening <- e.URL
		}
	}
}

func (s *server) note(e entry, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Msg == "request" {
		s.log = append(s.log, e)
	} else {
		s.lines = append(s.lines, line)
	}
	if e.Level == "ERROR" {
		s.log = append(s.log, e)
	}
	select {
	case s.noted <- struct{}{}:
	default:
	}
}

// requests are those of a route that the log has.
func (s *server) requests(route string) []entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []entry
	for _, e := range s.log {
		if e.Route == route {
			out = append(out, e)
		}
	}
	return out
}

// stop ends the server in order, and looks at what it leaves.
func (s *server) stop(t *testing.T) {
	t.Helper()
	s.stopped.Do(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.exited:
		case <-time.After(patience):
			_ = s.cmd.Process.Kill()
			<-s.exited
			t.Error("the server did not stop when it was told to")
		}
		if !s.cmd.ProcessState.Success() {
			t.Errorf("the server ended with %v: %s", s.cmd.ProcessState, s.stderr.String())
		}
		for _, e := range s.log {
			if e.Level == "ERROR" {
				t.Errorf("the server logged an error: %+v\n%s", e, strings.Join(s.lines, ""))
			}
		}
	})
}

// at is the URL of a path on the server.
func (s *server) at(path string) string { return strings.TrimSuffix(s.url.String(), "/") + path }

// picture is the path of a result, the same bytes over every protocol.
func picture(n, width int, more string) string {
	return fmt.Sprintf("/assets/%02d.jpg?sizes=%dx0%s", n%pictures, width, more)
}
