package interop_test

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The example is built and asked as its own words say.
func TestTheExampleAnswersAsItSays(t *testing.T) {
	program := filepath.Join(t.TempDir(), "h2server")
	if out, err := exec.Command("go", "build", "-o", program, "../../examples/h2server").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program, "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait() // by the signal
	}()
	lines := bufio.NewScanner(stdout)
	read := func() string {
		if !lines.Scan() {
			t.Fatalf("it says no more: %v", lines.Err())
		}
		_, line, _ := strings.Cut(lines.Text(), ": ")
		return line
	}

	curl := strings.Fields(read())
	if got := mustRun(t, curl[0], append(curl[1:], "-sS")...); got.out != "Hello over HTTP/2.0.\n" {
		t.Errorf("curl was answered %q", got.out)
	}
	nghttp := mustRun(t, "bash", "-c", read())
	// Frames end where phases do, whatever the handlers' turns were.
	if n := strings.Count(nghttp.out, "length=159,"); n != 3 {
		t.Errorf("%d frames have a header's 159 bytes, want one of each picture:\n%s", n, nghttp.out)
	}
}
