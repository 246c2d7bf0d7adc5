package testservices_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/spillway-media/spillway/internal/testservices"
)

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

func TestPostgresKeepsWhatWasCommittedWhenItIsKilled(t *testing.T) {
	pg := testservices.Postgres(t)
	dsn := pg.NewDatabase(t)
	if _, err := connect(t, dsn).Exec(t.Context(), "CREATE TABLE kept AS SELECT 42 AS n"); err != nil {
		t.Fatal(err)
	}
	pg.Kill()
	if conn, err := pgx.Connect(t.Context(), dsn); err == nil {
		_ = conn.Close(t.Context())
		t.Fatal("a killed server still takes connections")
	}
	pg.Restart()
	var n int
	if err := connect(t, dsn).QueryRow(t.Context(), "SELECT n FROM kept").Scan(&n); err != nil || n != 42 {
		t.Fatalf("after the restart: %d, %v", n, err)
	}
	if other := pg.NewDatabase(t); other == dsn {
		t.Fatalf("two databases have the address %s", dsn)
	}
}

func TestRedisIsEmptyWhenItWasRestarted(t *testing.T) {
	server := testservices.Redis(t)
	options, err := redis.ParseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	server.Restart()
	if n, err := client.Exists(t.Context(), "key").Result(); err != nil || n != 0 {
		t.Fatalf("after the restart: %d keys, %v", n, err)
	}
}

// The test runs itself again as a process that starts both servers and is then
// killed without a chance to stop them.
func TestServersDieWithTheTestsProcess(t *testing.T) {
	if os.Getenv("SPILLWAY_TEST_ORPHAN") != "" {
		pg, server := testservices.Postgres(t), testservices.Redis(t)
		fmt.Printf("%s %s\n", pg.DSN("postgres"), server.URL)
		<-t.Context().Done()
	}
	left, err := os.MkdirTemp("", "spillway-test-orphan-") //nolint:usetesting // its user of Postgres cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(left) })
	if err := os.Chmod(left, 0o755); err != nil { // for the user of Postgres
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestServersDieWithTheTestsProcess$")
	child.Env = append(os.Environ(), "SPILLWAY_TEST_ORPHAN=1", "TMPDIR="+left)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	dsn, url, _ := strings.Cut(strings.TrimSpace(line), " ")
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	gone(t, "Postgres", func() error {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err == nil {
			_ = conn.Close(t.Context())
		}
		return err
	})
	gone(t, "Redis", func() error {
		client := redis.NewClient(options)
		defer client.Close()
		return client.Ping(t.Context()).Err()
	})
}

func gone(t *testing.T, name string, ask func() error) {
	t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for range 200 {
		if ask() != nil {
			return
		}
		<-again.C
	}
	t.Fatalf("%s outlived the process that started it", name)
}
