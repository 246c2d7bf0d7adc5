package interop_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// tool is where a peer is: on PATH, or where scripts/setup.sh builds those that
// are written in Go.
func tool(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "spillway", "bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("find %s (scripts/setup.sh test installs it): %v", name, err)
	}
	return path
}

// said is what a peer wrote.
type said struct {
	out, err string
	code     int
}

// run waits for a peer to end, however it does.
func run(t *testing.T, name string, args ...string) said {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool(t, name), args...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || ok && exit.ExitCode() < 0 {
		t.Fatalf("run %s: %v\n%s", name, err, complaints.String())
	}
	return said{out.String(), complaints.String(), cmd.ProcessState.ExitCode()}
}

// mustRun is run for a peer whose exit code tells that all went well.
func mustRun(t *testing.T, name string, args ...string) said {
	t.Helper()
	s := run(t, name, args...)
	if s.code != 0 {
		t.Fatalf("%s ended with %d:\n%.4000s\n%.4000s", name, s.code, s.err, s.out)
	}
	return s
}
