package testservices

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The keys that the object store of S3 takes; it refuses others.
const (
	S3AccessKey = "spillway-test"
	S3SecretKey = "spillway-test-secret"
)

// S3 starts a real S3 server without a bucket and gives its URL. It stops when t
// ends. The test has to run two folders below the module's, as go test does for
// internal/NAME.
func S3(t testing.TB) string {
	t.Helper()
	binary := versitygw(t)
	dir := folder(t, nil)
	for _, part := range []string{"data", "sidecar"} {
		if err := os.Mkdir(filepath.Join(dir, part), 0o755); err != nil {
			t.Fatalf("make folder of the S3 server: %v", err)
		}
	}
	var fault error
	for range startTries {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(t)))
		p, err := start(filepath.Join(dir, "log"), nil, syscall.SIGKILL, binary,
			"--access", S3AccessKey, "--secret", S3SecretKey, "--port", address, "--quiet",
			"posix", "--sidecar", filepath.Join(dir, "sidecar"), filepath.Join(dir, "data"))
		if err != nil {
			t.Fatalf("start the S3 server: %v", err)
		}
		t.Cleanup(func() { p.stop(syscall.SIGKILL) }) // before the folder goes
		fault = p.answers(func(ctx context.Context) error {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			if err != nil {
				return err
			}
			return conn.Close()
		})
		if fault == nil {
			return "http://" + address
		}
	}
	t.Fatalf("start the S3 server: %v\n%s", fault, logTail(filepath.Join(dir, "log")))
	return ""
}

// versitygw is the path of the server, which is built where it is missing.
func versitygw(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join("..", "..", "scripts", "versitygw.sh")).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			out = exit.Stderr
		}
		t.Fatalf("the S3 server for this test could not be built by scripts/versitygw.sh: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}
