package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is a `spillway serve` of our own.
type Server struct {
	URL, Admin string // http://HOST:PORT
	PID        int
	// Began is how long it took from its start to the line "listening".
	Began   time.Duration
	command *exec.Cmd
	logs    sync.WaitGroup
	folder  string
}

// patience is how long a server may take to listen, or to end when told to.
const patience = 20 * time.Second

// Start runs a program's serve with the flags given, on free ports of this
// machine and with a folder of its own for temporary files below folder. The
// log goes to log, which may be io.Discard.
func Start(ctx context.Context, binary, folder string, log io.Writer, flags ...string) (*Server, error) {
	own, err := os.MkdirTemp(folder, "server-")
	if err != nil {
		return nil, fmt.Errorf("make folder for the server: %w", err)
	}
	arguments := append([]string{
		"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-format", "json",
		"--spool-dir", own, "--data", own, "--drain-timeout", "2s",
	}, flags...)
	s := &Server{folder: own, command: exec.Command(binary, arguments...)} //nolint:noctx // Stop ends it, in order
	s.command.Dir, s.command.Env = own, environment(own)
	s.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	s.command.Stdout, s.command.Stderr = ours, ours
	began := time.Now()
	err = s.command.Start()
	_ = ours.Close() // the server has its own copy
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start server: %w", err), output.Close())
	}
	s.PID = s.command.Process.Pid
	ready := make(chan error, 1)
	s.logs.Go(func() { ready <- s.follow(output, log) })
	select {
	case err = <-ready:
	case <-time.After(patience):
		err = fmt.Errorf("it did not listen within %s", patience)
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.Began = time.Since(began)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start server %s: %w", strings.Join(arguments, " "), err), s.Stop())
	}
	return s, nil
}

// environment is ours without any setting of the server, so that only flags
// count.
func environment(folder string) []string {
	settings := func(entry string) bool { return strings.HasPrefix(entry, "SPILLWAY_") }
	return append(slices.DeleteFunc(os.Environ(), settings), "TMPDIR="+folder)
}

// follow reads the log until the server listens, and goes on in the background
// so that the pipe never fills up.
func (s *Server) follow(output io.ReadCloser, log io.Writer) error {
	lines := bufio.NewReader(output)
	var last string
	for {
		text, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("it ended: %s", last)
		}
		_, _ = io.WriteString(log, text)
		var line struct{ Msg, Address string }
		if json.Unmarshal([]byte(text), &line) != nil {
			last = strings.TrimSpace(text)
			continue
		}
		last = text
		switch line.Msg {
		case "listening for operators":
			s.Admin = "http://" + line.Address
		case "listening":
			s.URL = "http://" + line.Address
			s.logs.Go(func() {
				defer output.Close()
				_, _ = io.Copy(log, lines)
			})
			return nil
		}
	}
}

// Stop ends the server by its process id, first kindly, and removes its
// folder. Stopping twice is fine.
func (s *Server) Stop() error {
	if s.command.ProcessState != nil {
		return nil
	}
	_ = s.command.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(patience, func() { _ = s.command.Process.Kill() })
	defer kill.Stop()
	s.logs.Wait()
	err := s.command.Wait()
	return errors.Join(err, os.RemoveAll(s.folder))
}

// CPU is what the server and its children have used so far.
func (s *Server) CPU() time.Duration {
	used, err := CPU(s.PID)
	if err != nil {
		return 0
	}
	return used
}

// Binary finds the program under test: the one named, or bin/spillway here.
func Binary(name string) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("find the server: %w", err)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find the server: %w (make build writes it)", err)
	}
	return path, nil
}
