package postgres_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/spillway-media/spillway/internal/testservices"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/postgres"
	"github.com/spillway-media/spillway/store/storetest"
)

func TestPostgresKeepsEveryRule(t *testing.T) { storetest.Run(t, backends(t)) }

func TestHistoryCostsNothing(t *testing.T) { storetest.Million(t, backends(t)) }

// backends starts a server and gives a database of it to each rule.
func backends(t *testing.T) func(*testing.T) *storetest.Backend {
	pg := testservices.Postgres(t, "fsync=off") // it dies, the machine does not
	return func(t *testing.T) *storetest.Backend {
		f := newFixture(t, pg)
		return &storetest.Backend{
			Store:   f.Store,
			Shift:   f.shift,
			Reopen:  func(testing.TB) jobs.Store { return f.open(t) },
			Crash:   pg.Restart,
			Process: func(t testing.TB) (io.Reader, func()) { return victim(t, f.dsn) },
			Exec:    func(_ testing.TB, sql string) { f.sql(t, sql) },
			Fill:    func(_ testing.TB, n int) { f.sql(t, fmt.Sprintf(finishedJobs, n), "VACUUM (ANALYSE) processing_jobs") },
		}
	}
}

// finishedJobs puts in jobs in all final states, with an attempt each.
const finishedJobs = `
WITH filled AS (
	INSERT INTO processing_jobs (type, queue, priority, rank, fair_tag, state, ready, created_at, eligible_at, started_at,
		finished_at, deliveries, max_attempts, worker_id, work_limit, params)
	SELECT 'image.derive', (ARRAY['images', 'documents', 'bulk'])[1 + i %% 3], 5, 5, 0,
		CASE WHEN i %% 20 = 0 THEN 'failed' WHEN i %% 21 = 0 THEN 'cancelled' ELSE 'succeeded' END, false,
		at, at, at, at + interval '900 ms', 1, 5, 'worker-1', '1 hour', '{"sizes":"300x0,1200x0","format":"webp"}'
	FROM (SELECT i, now() - interval '1 s' - i * interval '1 ms' AS at FROM generate_series(1, %d) AS i) AS n
	RETURNING id, worker_id, state, started_at, finished_at)
INSERT INTO job_attempts (job_id, number, worker_id, status, started_at, finished_at)
SELECT id, 1, worker_id, state, started_at, finished_at FROM filled`

// workedOn names the database that this process is to work on until it is killed.
const workedOn = "SPILLWAY_TEST_POSTGRES_DSN"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(workedOn); dsn != "" {
		fmt.Fprintln(os.Stderr, child(dsn))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func child(dsn string) error {
	ctx := context.Background()
	s, err := postgres.Open(ctx, dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return storetest.Work(ctx, s, os.Stdout)
}

// victim works on a database in another process, until it is killed.
func victim(t testing.TB, dsn string) (io.Reader, func()) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), workedOn+"="+dsn)
	cmd.Stderr = os.Stderr
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := sync.OnceFunc(func() {
		_ = cmd.Process.Kill()    // by its id
		_, _ = cmd.Process.Wait() // and not cmd.Wait, which closes what is still read
	})
	t.Cleanup(kill)
	return said, kill
}
