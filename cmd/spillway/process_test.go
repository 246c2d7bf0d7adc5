package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/testpictures"
)

// binary is the program, built once for all tests by TestMain as make does.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	folder, err := os.MkdirTemp("", "spillway-process-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	binary = filepath.Join(folder, "spillway")
	if output, err := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}

// limit is how long anything in these tests may take before it has failed.
const limit = 30 * time.Second

// result is how a run of the program ended.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the program to its end in an empty folder, with an environment of
// the given variables only.
func run(t *testing.T, environ []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, binary, args...)
	command.Dir, command.Stdout, command.Stderr = t.TempDir(), &stdout, &stderr
	command.Env = append([]string{"PATH=" + os.Getenv("PATH")}, environ...)
	err := command.Run()
	if failure := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failure) {
		t.Fatalf("run spillway %v: %v", args, err)
	}
	return result{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// server is a running program.
type server struct {
	command *exec.Cmd
	url     string
	ended   chan struct{} // closed when the process is gone
	signals int           // sent so far
	log     *lines
}

// lines keeps what a process writes and can wait for a line.
type lines struct {
	mu      sync.Mutex
	text    []string
	waiters map[chan string]string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, line)
	for waiter, part := range l.waiters {
		if strings.Contains(line, part) {
			waiter <- line
			delete(l.waiters, waiter)
		}
	}
}

// await gives the first line, written already or to come, that holds part.
func (l *lines) await(part string) <-chan string {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := make(chan string, 1)
	for _, line := range l.text {
		if strings.Contains(line, part) {
			found <- line
			return found
		}
	}
	if l.waiters == nil {
		l.waiters = map[chan string]string{}
	}
	l.waiters[found] = part
	return found
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.text, "\n")
}

// start runs the program until the end of the test and waits until it
// listens.
func start(t testing.TB, environ []string, args ...string) *server {
	t.Helper()
	s := launch(t, environ, args...)
	s.url = field(t, s.wait(t, `"msg":"listening"`), "url")
	s.url = strings.TrimSuffix(s.url, "/")
	return s
}

// launch runs the program until the end of the test.
func launch(t testing.TB, environ []string, args ...string) *server {
	t.Helper()
	s := &server{command: exec.Command(binary, args...), ended: make(chan struct{}), log: &lines{}}
	s.command.Dir = t.TempDir()
	s.command.Env = append([]string{"PATH=" + os.Getenv("PATH")}, environ...)
	stdout, err := s.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	s.command.Stderr = &stderr
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		scanner := bufio.NewScanner(stdout)
		for scanner.Scan() {
			s.log.add(scanner.Text())
		}
		_ = s.command.Wait()
	}()
	t.Cleanup(func() {
		// A server that has crashed meanwhile, or cannot stop, is a failure
		// whatever the test looked at.
		if s.signals == 0 {
			s.signal(t, syscall.SIGTERM)
			if code := s.exit(t); code != 0 {
				t.Errorf("exit code after the test = %d, want 0", code)
			}
		}
		_ = s.command.Process.Kill()
		<-s.ended
		if t.Failed() {
			t.Logf("stdout:\n%s\nstderr:\n%s", s.log, stderr.String())
		}
	})
	return s
}

// wait gives the first line of the log that holds part.
func (s *server) wait(t testing.TB, part string) string {
	t.Helper()
	select {
	case line := <-s.log.await(part):
		return line
	case <-s.ended:
		t.Fatalf("the program ended without writing %s", part)
	case <-time.After(limit):
		t.Fatalf("the program has not written %s", part)
	}
	return ""
}

// exit waits for the end of the program and gives its exit code.
func (s *server) exit(t testing.TB) int {
	t.Helper()
	select {
	case <-s.ended:
		return s.command.ProcessState.ExitCode()
	case <-time.After(limit):
		t.Error("the program did not end")
		return -1
	}
}

func (s *server) signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	s.signals++
	if err := s.command.Process.Signal(signal); err != nil {
		t.Errorf("send %s: %v", signal, err)
	}
}

// insist sends a signal until the program ends: one that comes right after the
// first counts as the same.
func (s *server) insist(t testing.TB, signal syscall.Signal) {
	t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for deadline := time.After(limit); ; {
		_ = s.command.Process.Signal(signal) // it may have ended
		select {
		case <-s.ended:
			return
		case <-deadline:
			return // exit tells
		case <-again.C:
		}
	}
}

// field reads one attribute of a JSON log line.
func field(t testing.TB, line, key string) string {
	t.Helper()
	attributes := map[string]any{}
	if err := json.Unmarshal([]byte(line), &attributes); err != nil {
		t.Fatalf("read log line %q: %v", line, err)
	}
	return fmt.Sprint(attributes[key])
}

// answer is one response with all its bytes.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func get(t *testing.T, url string) answer {
	t.Helper()
	a, err := fetch(t.Context(), url)
	if err != nil {
		t.Fatalf("get %s: %v", url, err)
	}
	return a
}

func fetch(ctx context.Context, url string) (answer, error) {
	// A connection of its own: none is left over to another test.
	return ask(ctx, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, url)
}

func ask(ctx context.Context, client *http.Client, url string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, body}, err
}

// pictures makes a folder with one good picture, a.jpg, of 90 x 60 pixels.
func pictures(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	put(t, folder, "a.jpg", testpictures.JPEG(testpictures.Scene(90, 60), 90))
	return folder
}

func put(t *testing.T, folder, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
