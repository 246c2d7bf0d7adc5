package testservices

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// RedisServer is a redis-server that keeps nothing on disk: a restarted one is
// empty. Its methods are for one goroutine.
type RedisServer struct {
	// URL is its address, the same after a Restart.
	URL string

	t         testing.TB
	path, dir string
	port      int
	server    *process // nil when it does not run
}

// Redis starts one. It stops when t ends.
func Redis(t testing.TB) *RedisServer {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatalf("find Redis (scripts/setup.sh test installs it): %v", err)
	}
	r := &RedisServer{t: t, path: path, dir: folder(t, nil)}
	t.Cleanup(r.Kill) // before the folder goes
	r.startSomewhere()
	return r
}

func (r *RedisServer) log() string { return filepath.Join(r.dir, "log") }

func (r *RedisServer) address() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.port))
}

func (r *RedisServer) startSomewhere() {
	r.t.Helper()
	var err error
	for range startTries {
		r.port = freePort(r.t)
		r.URL = "redis://" + r.address() + "/0"
		if err = r.start(); err == nil {
			return
		}
	}
	r.t.Fatalf("start Redis: %v\n%s", err, logTail(r.log()))
}

func (r *RedisServer) start() error {
	p, err := start(r.log(), nil, syscall.SIGKILL, r.path,
		"--bind", "127.0.0.1", "--port", strconv.Itoa(r.port), "--save", "", "--appendonly", "no",
		"--dir", r.dir, "--daemonize", "no")
	if err != nil {
		return err
	}
	if err := p.answers(r.ping); err != nil {
		p.stop(syscall.SIGKILL)
		return err
	}
	r.server = p
	return nil
}

func (r *RedisServer) ping(ctx context.Context) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.address())
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && answer != "+PONG\r\n" {
		err = fmt.Errorf("it answers %q", answer)
	}
	return err
}

// Kill ends the server at once; what it held is lost.
func (r *RedisServer) Kill() {
	if r.server != nil {
		r.server.stop(syscall.SIGKILL)
		r.server = nil
	}
}

// Restart starts it again, empty, on the same port, after a Kill if it still
// runs.
func (r *RedisServer) Restart() {
	r.t.Helper()
	r.Kill()
	if err := r.start(); err != nil {
		r.t.Fatalf("start Redis again: %v\n%s", err, logTail(r.log()))
	}
}
