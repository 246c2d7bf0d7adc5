package main

import (
	"bufio"
	"context"
	_ "embed" // floor.c
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// floorSource is the program that calls libvips and nothing else. It is a
// process of its own, so that neither disturbs the memory of the other.
//
//go:embed floor/floor.c
var floorSource []byte

func buildFloor(ctx context.Context, folder string) (string, error) {
	flags, err := exec.CommandContext(ctx, "pkg-config", "--cflags", "--libs", "vips").Output()
	if err != nil {
		return "", fmt.Errorf("ask where libvips is: %w", err)
	}
	source, program := filepath.Join(folder, "floor.c"), filepath.Join(folder, "floor")
	if err := os.WriteFile(source, floorSource, 0o600); err != nil {
		return "", fmt.Errorf("write the floor: %w", err)
	}
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	args := append([]string{"-O2", "-o", program, source}, strings.Fields(string(flags))...)
	if text, err := exec.CommandContext(ctx, compiler, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile the floor: %w: %s", err, text)
	}
	return program, nil
}

// bare is a running floor.
type bare struct {
	command *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Reader
}

// startFloor runs one for a file, loader options, and pairs of width and
// suffix.
func (b *bench) startFloor(ctx context.Context, file, load string, outputs ...string) (*bare, error) {
	f := &bare{command: exec.CommandContext(ctx, b.floor, append([]string{file, load}, outputs...)...)}
	// libvips warns of what it does not read; what fails is told by its absence.
	f.command.Env = append(os.Environ(), "VIPS_WARNING=0")
	f.command.Stderr = os.Stderr
	var err error
	if f.orders, err = f.command.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the floor: %w", err)
	}
	answers, err := f.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the floor: %w", err)
	}
	f.answers = bufio.NewReader(answers)
	if err := f.command.Start(); err != nil {
		return nil, fmt.Errorf("start the floor: %w", err)
	}
	return f, nil
}

// runs makes the picture n times and gives the CPU milliseconds and the bytes
// of one of them.
func (f *bare) runs(n int) (cpu float64, bytes int64, err error) {
	if _, err := fmt.Fprintln(f.orders, n); err != nil {
		return 0, 0, fmt.Errorf("order the floor: %w", err)
	}
	if _, err := fmt.Fscanln(f.answers, &cpu, &bytes); err != nil {
		return 0, 0, fmt.Errorf("read what the floor says: %w", err)
	}
	return cpu, bytes, nil
}

func (f *bare) stop() error {
	return errors.Join(f.orders.Close(), f.command.Wait())
}
