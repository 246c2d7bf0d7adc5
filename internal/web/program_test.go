package web_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// builtBinary spares a build where the program was just made.
var builtBinary = flag.String("binary", "", "the spillway binary to test; built when empty")

// shared is a folder for the whole run: the binary and the data folder, whose
// demo pictures are so painted once.
var shared string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	var err error
	if shared, err = os.MkdirTemp("", "spillway-web-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(shared)
	return m.Run()
}

// program gives the binary's path and builds it at the first call.
var program = sync.OnceValues(func() (string, error) {
	if *builtBinary != "" {
		return *builtBinary, nil
	}
	path := filepath.Join(shared, "spillway")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/spillway").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build spillway: %w\n%s", err, out)
	}
	return path, nil
})

// startProgram runs `spillway up` on a free port until the test ends and gives
// its URL. args are added.
func startProgram(t *testing.T, args ...string) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{"up", "--listen", "127.0.0.1:0", "--data", filepath.Join(shared, "data")}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	found, ended := make(chan string, 1), make(chan struct{})
	go func() { // reads to the end, so that the program never waits for us
		defer close(ended)
		for in := bufio.NewScanner(stdout); in.Scan(); {
			var line struct {
				Msg, URL string
			}
			if json.Unmarshal(in.Bytes(), &line) == nil && line.Msg == "listening" {
				found <- strings.TrimSuffix(line.URL, "/")
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("spillway up ended with %v\n%.4000s", err, stderr.String())
		}
	})
	select {
	case url := <-found:
		return url
	case <-ended:
		t.Fatalf("spillway up ended before it listened:\n%s", stderr.String())
	case <-t.Context().Done():
		t.Fatal("spillway up did not listen in time")
	}
	return ""
}
