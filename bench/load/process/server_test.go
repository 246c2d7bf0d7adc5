package process_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/bench/load/process"
)

// program writes a shell script that stands in for the server.
func program(t *testing.T, script string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

const listens = `echo '{"msg":"starting"}'
echo not JSON at all
echo '{"msg":"listening for operators","address":"127.0.0.1:2"}'
echo '{"msg":"listening","address":"127.0.0.1:1"}'
`

func TestServerIsThereOnceItListens(t *testing.T) {
	folder := t.TempDir()
	// It tells what settings it got and then waits to be stopped.
	name := program(t, "trap 'echo stopping; exit 0' TERM\n"+listens+"env | grep ^SPILLWAY_ >&2\nwhile :; do sleep 0.02; done\n")
	t.Setenv("SPILLWAY_CACHE_MEMORY", "1")
	var log bytes.Buffer
	s, err := process.Start(t.Context(), name, folder, &log, "--flag", "value")
	if err != nil {
		t.Fatal(err)
	}
	if s.URL != "http://127.0.0.1:1" || s.Admin != "http://127.0.0.1:2" || s.Began <= 0 {
		t.Errorf("server = %+v", s)
	}
	if err := s.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := s.Stop(); err != nil {
		t.Errorf("stop again: %v", err)
	}
	if !strings.Contains(log.String(), "stopping") || strings.Contains(log.String(), "SPILLWAY_") {
		t.Errorf("log = %q, want the end of it and no settings of ours", log.String())
	}
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("%d folders are left", len(left))
	}
}

func TestServerThatEndsEarlyIsAnErrorThatSaysWhy(t *testing.T) {
	name := program(t, "echo 'spillway: the port is taken' >&2; exit 1\n")
	if _, err := process.Start(t.Context(), name, t.TempDir(), io.Discard); err == nil || !strings.Contains(err.Error(), "the port is taken") {
		t.Errorf("error = %v, want the reason", err)
	}
}

func TestCPUAndMemoryCountChildren(t *testing.T) {
	// The shell's child burns some CPU and ends; the next one lives on.
	command := exec.Command("sh", "-c", `sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; exec 3<&0; cat <&3 & echo ready; wait`)
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = command.Process.Kill(); _ = command.Wait() }()
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	pid := command.Process.Pid
	if used, err := process.CPU(pid); err != nil || used < 5_000_000 {
		t.Errorf("CPU = %s, %v; want that of the child that ended, too", used, err)
	}
	children := process.Children(pid)
	if len(children) != 1 || slices.Contains(children, pid) {
		t.Errorf("children = %v, want the one that lives", children)
	}
	held, err := process.Held(pid)
	if err != nil || held.Now <= 0 || held.Peak <= 0 || held.Children != 1 {
		t.Errorf("memory = %+v, %v", held, err)
	}
}

func TestProcessThatIsGoneIsAnError(t *testing.T) {
	const nobody = 1 << 30
	if _, err := process.CPU(nobody); err == nil {
		t.Error("CPU of nobody is no error")
	}
	if _, err := process.Held(nobody); err == nil {
		t.Error("memory of nobody is no error")
	}
}
