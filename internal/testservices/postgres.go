package testservices

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// PG is a Postgres server. Its methods are for one goroutine.
type PG struct {
	t        testing.TB
	bin, dir string
	as       *syscall.Credential
	settings []string
	port     int
	serial   int
	server   *process // nil when it does not run
}

// Postgres makes a new cluster and starts it. Settings are lines of its
// configuration, such as "fsync=off"; without any it has the defaults, so that
// a commit is a commit. It stops, and its data goes, when t ends.
func Postgres(t testing.TB, settings ...string) *PG {
	t.Helper()
	bin, err := postgresBin()
	if err != nil {
		t.Fatalf("find Postgres (scripts/setup.sh test installs it): %v", err)
	}
	as, err := unprivileged("postgres")
	if err != nil {
		t.Fatalf("choose the user of Postgres: %v", err)
	}
	pg := &PG{t: t, bin: bin, dir: folder(t, as), as: as, settings: settings}
	t.Cleanup(pg.Kill) // before the folder goes
	pg.initdb()
	pg.startSomewhere()
	return pg
}

// postgresBin is where the server's programs are: on PATH, or where Debian puts
// them, the newest first.
func postgresBin() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("initdb is neither on PATH nor under /usr/lib/postgresql: %w", exec.ErrNotFound)
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return release(a) - release(b) })), nil
}

// release reads the 15 of /usr/lib/postgresql/15/bin/initdb.
func release(path string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	if err != nil {
		return 0
	}
	return n
}

func (pg *PG) initdb() {
	pg.t.Helper()
	p, err := start(pg.log(), pg.as, syscall.SIGKILL, filepath.Join(pg.bin, "initdb"),
		"-D", pg.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err != nil {
		pg.t.Fatalf("make a cluster: %v", err)
	}
	<-p.exited
	if !p.cmd.ProcessState.Success() {
		pg.t.Fatalf("make a cluster: %v\n%s", p.cmd.ProcessState, logTail(pg.log()))
	}
}

func (pg *PG) log() string  { return filepath.Join(pg.dir, "log") }
func (pg *PG) data() string { return filepath.Join(pg.dir, "data") }

func (pg *PG) startSomewhere() {
	pg.t.Helper()
	var err error
	for range startTries {
		pg.port = freePort(pg.t)
		if err = pg.start(); err == nil {
			return
		}
	}
	pg.t.Fatalf("start Postgres: %v\n%s", err, logTail(pg.log()))
}

func (pg *PG) start() error {
	args := []string{"-D", pg.data(), "-c", "listen_addresses=127.0.0.1", "-c", "port=" + strconv.Itoa(pg.port),
		"-c", "unix_socket_directories=", "-c", "max_connections=200", "-c", "timezone=UTC"}
	for _, s := range pg.settings {
		args = append(args, "-c", s)
	}
	// SIGQUIT is the immediate shutdown; SIGKILL would leave backends behind.
	p, err := start(pg.log(), pg.as, syscall.SIGQUIT, filepath.Join(pg.bin, "postgres"), args...)
	if err != nil {
		return err
	}
	if err := p.answers(pg.ping); err != nil {
		p.stop(syscall.SIGQUIT)
		return err
	}
	pg.server = p
	return nil
}

func (pg *PG) ping(ctx context.Context) error { return pg.exec(ctx, "SELECT 1") }

func (pg *PG) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, pg.DSN("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	_ = conn.Close(ctx)
	return err
}

// DSN is the address of one of its databases.
func (pg *PG) DSN(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", pg.port, database)
}

// NewDatabase makes an empty one and answers its address. It is dropped when t
// ends, if the server still runs then.
func (pg *PG) NewDatabase(t testing.TB) string {
	t.Helper()
	return pg.create(t, "template1")
}

// CopyDatabase does the same with a copy of another of its databases, to which
// nobody may be connected. It is much faster than migrating each anew.
func (pg *PG) CopyDatabase(t testing.TB, dsn string) string {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatalf("read address of the database to copy: %v", err)
	}
	return pg.create(t, config.Database)
}

func (pg *PG) create(t testing.TB, template string) string {
	t.Helper()
	pg.serial++
	name := fmt.Sprintf("test%d", pg.serial)
	if err := pg.exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatalf("create database: %v", err)
	}
	t.Cleanup(func() {
		if pg.server != nil {
			_ = pg.exec(context.Background(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") // the cluster goes anyway
		}
	})
	return pg.DSN(name)
}

// Kill ends the server at once and without a checkpoint, as a crash does: what
// was committed is found again by recovery at the next start.
func (pg *PG) Kill() {
	if pg.server != nil {
		pg.server.stop(syscall.SIGQUIT)
		pg.server = nil
	}
}

// Restart starts it again on the same port with the same data, after a Kill
// if it still runs.
func (pg *PG) Restart() {
	pg.t.Helper()
	pg.Kill()
	if err := pg.start(); err != nil {
		pg.t.Fatalf("start Postgres again: %v\n%s", err, logTail(pg.log()))
	}
}
