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
	"time"

	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/postgres"
	"github.com/spillway-media/spillway/store/storetest"
)

func TestPostgresKeepsEveryRule(t *testing.T) {
	c := newCluster(t, "fsync=off") // it dies, the machine does not
	storetest.Run(t, c.backend)
}

func TestHistoryCostsNothing(t *testing.T) {
	c := newCluster(t, "fsync=off")
	storetest.Million(t, c.backend)
}

func (c *cluster) backend(t *testing.T) *storetest.Backend {
	f := newFixture(t, c)
	return &storetest.Backend{
		Store:   f.Store,
		Fleet:   f.Fleet(),
		Shift:   f.shift,
		Reopen:  func(t testing.TB) jobs.Store { return f.open(t) },
		Crash:   c.Restart,
		Process: func(t testing.TB) (io.Reader, func()) { return victim(t, f.dsn) },
		Exec:    func(t testing.TB, statement string) { f.sql(t, statement) },
		Fill:    f.fill,
	}
}

// fill puts in n jobs in all final states, with an attempt each.
func (f *fixture) fill(t testing.TB, n int) {
	t.Helper()
	f.sql(t, fmt.Sprintf(`
WITH filled AS (
	INSERT INTO processing_jobs (type, queue, priority, rank, fair_tag, state, ready, created_at, eligible_at, started_at,
		finished_at, deliveries, max_attempts, worker_id, work_limit, params, result)
	SELECT 'image.derive', (array['images', 'documents', 'bulk'])[1 + i %% 3], 5, 5, i,
		CASE WHEN i %% 20 = 0 THEN 'failed' WHEN i %% 21 = 0 THEN 'cancelled' ELSE 'succeeded' END, false,
		t, t, t, t + interval '900 ms', 1, 5, 'worker-1', '1 hour', '{"sizes":"300x0,1200x0","format":"webp"}', '{"outputs":[]}'
	FROM (SELECT i, now() - i * interval '1 ms' - interval '1 second' AS t FROM generate_series(1, %d) AS s (i)) s
	RETURNING id, queue, worker_id, state, started_at, finished_at)
INSERT INTO job_attempts (job_id, number, worker_id, status, started_at, finished_at, queue)
SELECT id, 1, worker_id, state, started_at, finished_at, queue FROM filled`, n))
}

// victimOf names the database that the test binary works on as another process.
const victimOf = "SPILLWAY_TEST_POSTGRES_VICTIM_OF"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(victimOf); dsn != "" {
		if err := work(dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func work(dsn string) error {
	s, err := postgres.Open(context.Background(), dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return storetest.Work(context.Background(), s, os.Stdout)
}

// victim works on the database in another process, until it is killed.
func victim(t testing.TB, dsn string) (io.Reader, func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimOf+"="+dsn)
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
	t.Cleanup(func() {
		kill()
		_ = said.Close()
	})
	return said, kill
}

// A server that was away for a while is found again, and enqueueing says at
// once that it is away.
func TestAServerThatIsAwayIsUnavailable(t *testing.T) {
	c := newCluster(t, "fsync=off")
	f := newFixture(t, c)
	f.worker(t, "w")
	mustEnqueue(t, f, specs(3)...)
	j := mustClaim(t, f, claimOf("w", 1, "images"))[0]
	mustEnqueue(t, f, spec()) // a claim is durable with the next commit that is
	c.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	calls := map[string]func() error{
		"enqueue":    func() error { _, err := f.Enqueue(ctx, specs(1)); return err },
		"claim":      func() error { _, err := f.Claim(ctx, claimOf("w", 1, "images")); return err },
		"beat":       func() error { _, err := f.Beat(ctx, "w", time.Minute, []jobs.Pulse{{Lease: lease(j)}}); return err },
		"finish":     func() error { return f.Finish(ctx, lease(j), succeeded) },
		"checkpoint": func() error { return f.SaveCheckpoints(ctx, lease(j), []jobs.Checkpoint{{Key: "a"}}) },
		"rescue":     func() error { _, err := f.Rescue(ctx, lease(j), jobs.AfterLoss(&j)); return err },
		"cancel":     func() error { _, err := f.Cancel(ctx, j.ID, "no"); return err },
		"job":        func() error { _, err := f.Job(ctx, j.ID); return err },
		"queues":     func() error { _, err := f.Queues(ctx, 10); return err },
		"elect":      func() error { _, err := f.Elect(ctx, "x"); return err },
		"open": func() error {
			_, err := postgres.Open(ctx, f.dsn, slog.New(slog.DiscardHandler))
			return err
		},
	}
	for name, call := range calls {
		if err := call(); !isUnavailable(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.Restart()
	// A connection of the pool may be one that died with the server.
	var err error
	for range 10 {
		if err = f.Finish(t.Context(), lease(j), succeeded); err == nil {
			break
		}
	}
	if got, jobErr := f.Job(t.Context(), j.ID); err != nil || jobErr != nil || got.State != jobs.Succeeded {
		t.Errorf("after the restart: %v, %v, %s", err, jobErr, got.State)
	}
}
