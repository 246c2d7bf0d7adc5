package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/spillway-media/spillway/bench/h2/site"
)

// child is a server in a process of its own, so that its CPU time is not mixed
// with that of anything else.
type child struct {
	address string
	pid     int
	command *exec.Cmd
	stop    io.Closer
}

// serve is what the child runs: a server until its standard input ends.
func serve(ctx context.Context, name string, secure bool, in io.Reader, out io.Writer) (err error) {
	kind := site.Std()
	if name == ours {
		kind = site.Ours()
	}
	var certificate *tls.Certificate
	if secure {
		if certificate, err = site.Certificate(time.Now()); err != nil {
			return err
		}
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server, err := kind.Serve(listener, site.New(nil), certificate)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, server.Address)
	_, err = io.Copy(io.Discard, in)
	return errors.Join(err, server.Close())
}

// startChild runs this program again as a server.
func startChild(name string, secure bool) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	command := exec.Command(program, "serve", name, fmt.Sprint(secure)) //nolint:noctx // it ends with its standard input
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	c := &child{pid: command.Process.Pid, command: command, stop: in}
	var line [64]byte
	n, err := out.Read(line[:])
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start server: it did not listen: %w", err), c.close())
	}
	c.address = strings.TrimSpace(string(line[:n]))
	return c, nil
}

func (c *child) close() error {
	err := c.stop.Close()
	return errors.Join(err, c.command.Wait())
}
