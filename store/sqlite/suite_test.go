package sqlite_test

import (
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/sqlite"
	"github.com/spillway-media/spillway/store/storetest"
)

func TestSQLiteKeepsEveryRule(t *testing.T) { storetest.Run(t, backend) }

func TestHistoryCostsNothing(t *testing.T) { storetest.Million(t, backend) }

func backend(t *testing.T) *storetest.Backend {
	path := file(t)
	var moved atomic.Int64
	clock := sqlite.WithClockOffset(func() time.Duration { return time.Duration(moved.Load()) })
	s := open(t, path, clock)
	return &storetest.Backend{
		Store:   s,
		Fleet:   s.Fleet(),
		Shift:   func(d time.Duration) { moved.Add(int64(d)) },
		Reopen:  func(t testing.TB) jobs.Store { return open(t, path, clock) },
		Process: func(testing.TB) (io.Reader, func()) { return victim(t, path) },
		Exec:    func(t testing.TB, statement string) { execute(t, path, statement) },
		Fill:    func(t testing.TB, n int) { execute(t, path, finishedJobs, n) },
	}
}

func execute(t testing.TB, path, statement string, args ...any) {
	t.Helper()
	if _, err := other(t, path).ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// finishedJobs puts in ?1 jobs in all final states, with an attempt each.
const finishedJobs = `
CREATE TEMP TABLE filling AS
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) SELECT i FROM n;
INSERT INTO processing_jobs (type, queue, priority, rank, state, ready, created_at, eligible_at, started_at, finished_at,
  deliveries, max_attempts, worker_id, work_limit_ms, estimated_seconds, params)
SELECT 'image.derive', CASE i % 3 WHEN 0 THEN 'images' WHEN 1 THEN 'documents' ELSE 'bulk' END, 5, 5,
  CASE WHEN i % 20 = 0 THEN 'failed' WHEN i % 21 = 0 THEN 'cancelled' ELSE 'succeeded' END, 0,
  t, t, t, t + 900, 1, 5, 'worker-1', 3600000, 1, '{"sizes":"300x0,1200x0","format":"webp"}'
FROM (SELECT i, CAST(unixepoch('subsec') * 1000 AS INTEGER) - 1000 - i AS t FROM filling);
INSERT INTO job_attempts (job_id, number, worker_id, status, started_at, finished_at, queue)
SELECT id, 1, worker_id, state, started_at, finished_at, queue FROM processing_jobs
WHERE finished_at IS NOT NULL AND id > (SELECT max(id) FROM processing_jobs) - (SELECT count(*) FROM filling);
DROP TABLE filling;`

// victim works on the file in another process, until it is killed.
func victim(t *testing.T, path string) (io.Reader, func()) {
	t.Helper()
	cmd, said := start(t, "suite", path, "")
	return said, sync.OnceFunc(func() {
		_ = cmd.Process.Kill()    // by its id
		_, _ = cmd.Process.Wait() // and not cmd.Wait, which closes what is still read
	})
}
