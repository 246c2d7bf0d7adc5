package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/internal/testservices"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/postgres"
)

// fixture is a store on a database of its own.
type fixture struct {
	*postgres.Store
	dsn    string
	offset atomic.Int64
}

// cluster is a server with a database that is migrated already.
type cluster struct {
	*testservices.PG
	migrated string
}

func newCluster(t testing.TB, settings ...string) *cluster {
	t.Helper()
	pg := testservices.Postgres(t, settings...)
	c := &cluster{pg, pg.NewDatabase(t)}
	if _, _, err := postgres.Migrate(t.Context(), c.migrated); err != nil {
		t.Fatal(err)
	}
	return c
}

func newFixture(t testing.TB, c *cluster) *fixture {
	t.Helper()
	f := &fixture{dsn: c.CopyDatabase(t, c.migrated)}
	f.Store = f.open(t)
	return f
}

// open is what another process would do.
func (f *fixture) open(t testing.TB) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), f.dsn, slog.New(slog.DiscardHandler),
		postgres.WithClockOffset(func() time.Duration { return time.Duration(f.offset.Load()) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (f *fixture) shift(d time.Duration) { f.offset.Add(int64(d)) }

// sql runs statements on a connection of its own.
func (f *fixture) sql(t testing.TB, statements ...string) {
	t.Helper()
	conn := f.conn(t)
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%.60s: %v", statement, err)
		}
	}
}

func (f *fixture) conn(t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), f.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func (f *fixture) worker(t testing.TB, id string) {
	t.Helper()
	err := f.Register(t.Context(), jobs.WorkerRow{ID: id, Provider: "vps", Market: jobs.VPS, Queues: []string{"images"}, Slots: 8})
	if err != nil {
		t.Fatal(err)
	}
}

// spec is a complete one.
func spec(change ...func(*jobs.Spec)) jobs.Spec {
	s := jobs.Spec{Type: "image.derive", Queue: "images", Priority: 5, Params: json.RawMessage(`{}`),
		MaxAttempts: 5, WorkLimit: time.Hour, EstimatedSeconds: 1}
	for _, c := range change {
		c(&s)
	}
	return s
}

func specs(n int, change ...func(*jobs.Spec)) []jobs.Spec {
	all := make([]jobs.Spec, n)
	for i := range all {
		all[i] = spec(change...)
	}
	return all
}

func mustEnqueue(t *testing.T, s jobs.EnqueueStore, all ...jobs.Spec) []jobs.Enqueued {
	t.Helper()
	entered, err := s.Enqueue(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	return entered
}

func claimOf(worker string, n int, queues ...string) jobs.Claim {
	return jobs.Claim{WorkerID: worker, Queues: queues, N: n, Lease: time.Minute, Market: jobs.VPS}
}

func mustClaim(t *testing.T, s jobs.ClaimStore, c jobs.Claim) []jobs.Job {
	t.Helper()
	claimed, err := s.Claim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return claimed
}

func lease(j jobs.Job) jobs.Lease { return jobs.Lease{ID: j.ID, Token: j.Token} }

var succeeded = jobs.Outcome{State: jobs.Succeeded, Attempt: jobs.AttemptSucceeded, Result: json.RawMessage(`{"n":1}`)}

// One server serves all of these, each with a database of its own.
func TestWhatIsPostgresOwn(t *testing.T) {
	c := newCluster(t, "fsync=off", "deadlock_timeout=100ms")
	for _, test := range []struct {
		name  string
		check func(*testing.T, *fixture)
	}{
		{"jobs are claimed once", jobsAreClaimedOnce},
		{"a claim does not wait for another", aClaimDoesNotWaitForAnother},
		{"a claimed head does not let a later job go first", aClaimedHeadDoesNotLetALaterJobGoFirst},
		{"the same key enqueued at the same time is one job", theSameKeyEnqueuedAtTheSameTimeIsOneJob},
		{"one bad call does not spoil the others of its commit", oneBadCallDoesNotSpoilTheOthersOfItsCommit},
		{"a job is finished by one of two that try together", aJobIsFinishedByOneOfTwoThatTryTogether},
		{"nothing deadlocks", nothingDeadlocks},
		{"enqueue tx is part of the callers transaction", enqueueTxIsPartOfTheCallersTransaction},
		{"an election ends with its connection", anElectionEndsWithItsConnection},
		{"a job of many checkpoints is pruned in steps", aJobOfManyCheckpointsIsPrunedInSteps},
		{"heartbeats do not wait for slow questions", heartbeatsDoNotWaitForSlowQuestions},
	} {
		t.Run(test.name, func(t *testing.T) { test.check(t, newFixture(t, c)) })
	}
}

func TestOpenRefusesADatabaseOfAnotherRelease(t *testing.T) {
	pg := testservices.Postgres(t, "fsync=off")
	f := &fixture{dsn: pg.NewDatabase(t)}
	log := slog.New(slog.DiscardHandler)
	if _, err := postgres.Open(t.Context(), f.dsn, log); err == nil || !strings.Contains(err.Error(), "spillway migrate") {
		t.Errorf("an empty database: %v", err)
	}
	var together sync.WaitGroup
	for range 3 {
		together.Go(func() {
			if _, to, err := postgres.Migrate(t.Context(), f.dsn); err != nil || to < 1 {
				t.Errorf("migrate to %d: %v", to, err)
			}
		})
	}
	together.Wait()
	from, to, err := postgres.Migrate(t.Context(), f.dsn)
	if err != nil || from != to {
		t.Errorf("migrated again from %d to %d: %v", from, to, err)
	}
	f.open(t)
	f.sql(t, "INSERT INTO spillway_migrations (version_id, is_applied) VALUES (999, true)")
	if _, err := postgres.Open(t.Context(), f.dsn, log); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("a newer database: %v", err)
	}
	if _, _, err := postgres.Migrate(t.Context(), f.dsn); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("migrating a newer database: %v", err)
	}
}

func TestNoErrorShowsThePassword(t *testing.T) {
	for _, dsn := range []string{
		"postgres://spillway:hunter2@127.0.0.1:1/spillway?sslmode=disable",
		"postgres://spillway:hunter2@127.0.0.1:port/spillway",
		"postgres://spillway:hunter2@[::1/spillway",
		"host=127.0.0.1 port=1 user=spillway password=hunter2 sslmode=disable",
		"host=127.0.0.1 port=1 password='hunter2 sslmode=disable",
	} {
		_, err := postgres.Open(t.Context(), dsn, slog.New(slog.DiscardHandler))
		_, _, migrateErr := postgres.Migrate(t.Context(), dsn)
		for _, err := range []error{err, migrateErr} {
			if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), "hunter2") {
				t.Errorf("the error is %v", err)
			}
		}
	}
}

func jobsAreClaimedOnce(t *testing.T, f *fixture) {
	const workers, total = 8, 600
	for range total / 100 {
		mustEnqueue(t, f, specs(100)...)
	}
	var claimed sync.Map
	var count atomic.Int64
	var all sync.WaitGroup
	for w := range workers {
		store, id := f.Store, fmt.Sprintf("worker-%d", w)
		if w%2 == 1 {
			store = f.open(t)
		}
		f.worker(t, id)
		all.Go(func() {
			for {
				got, err := store.Claim(t.Context(), claimOf(id, 1+w%3, "images", "bulk"))
				if err != nil || len(got) == 0 {
					if err != nil {
						t.Error(err)
					}
					return
				}
				for _, j := range got {
					if other, twice := claimed.LoadOrStore(j.ID, id); twice {
						t.Errorf("job %s was claimed by %s and %s", j.ID, other, id)
					}
					count.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := count.Load(); n != total {
		t.Errorf("%d of %d jobs were claimed", n, total)
	}
}

func aClaimDoesNotWaitForAnother(t *testing.T, f *fixture) {
	f.worker(t, "w")
	entered := mustEnqueue(t, f, spec(), spec(), spec(func(s *jobs.Spec) { s.Queue, s.Priority = "bulk", 9 }))
	// Somebody is taking the first and does not come to an end.
	tx, err := f.conn(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "SELECT 1 FROM processing_jobs WHERE id = $1 FOR UPDATE", entered[0].Job.ID); err != nil {
		t.Fatal(err)
	}
	got := mustClaim(t, f, claimOf("w", 3, "images", "bulk"))
	if len(got) != 2 || got[0].ID != entered[1].Job.ID || got[1].ID != entered[2].Job.ID {
		t.Fatalf("claimed %d jobs %v", len(got), got)
	}
}

func aClaimedHeadDoesNotLetALaterJobGoFirst(t *testing.T, f *fixture) {
	f.worker(t, "w")
	in := func(queue string, priority int) jobs.Spec {
		return spec(func(s *jobs.Spec) { s.Queue, s.Priority = queue, priority })
	}
	entered := mustEnqueue(t, f, in("images", 1), in("images", 9), in("bulk", 5))
	tx, err := f.conn(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "SELECT 1 FROM processing_jobs WHERE id = $1 FOR UPDATE", entered[0].Job.ID); err != nil {
		t.Fatal(err)
	}
	if got := mustClaim(t, f, claimOf("w", 1, "images", "bulk")); len(got) != 1 || got[0].ID != entered[2].Job.ID {
		t.Fatalf("claimed %v instead of the job of priority 5", got)
	}
}

func theSameKeyEnqueuedAtTheSameTimeIsOneJob(t *testing.T, f *fixture) {
	other := f.open(t)
	for name, change := range map[string]func(s *jobs.Spec, i int){
		"by idempotency key": func(s *jobs.Spec, i int) { s.IdempotencyKey = fmt.Sprintf("key-%d", i) },
		"by unique key":      func(s *jobs.Spec, i int) { s.UniqueKey = fmt.Sprintf("key-%d", i) },
	} {
		t.Run(name, func(t *testing.T) {
			const keys, callers = 20, 6
			var ids [callers][keys]jobs.ID
			var inserted atomic.Int64
			var all sync.WaitGroup
			for c := range callers {
				store := f.Store
				if c%2 == 1 {
					store = other
				}
				all.Go(func() {
					batch := specs(keys)
					for i := range batch {
						// Half of the callers ask in the opposite order.
						k := i
						if c%4 >= 2 {
							k = keys - 1 - i
						}
						change(&batch[i], k)
					}
					entered, err := store.Enqueue(t.Context(), batch)
					if err != nil {
						t.Error(err)
						return
					}
					for i, e := range entered {
						k := i
						if c%4 >= 2 {
							k = keys - 1 - i
						}
						ids[c][k] = e.Job.ID
						if !e.Existing {
							inserted.Add(1)
						}
					}
				})
			}
			all.Wait()
			for c := 1; c < callers; c++ {
				if ids[c] != ids[0] {
					t.Errorf("caller %d got other jobs than the first: %v, %v", c, ids[c], ids[0])
				}
			}
			if n := inserted.Load(); n != keys {
				t.Errorf("%d jobs were inserted for %d keys", n, keys)
			}
		})
	}
}

func oneBadCallDoesNotSpoilTheOthersOfItsCommit(t *testing.T, f *fixture) {
	f.worker(t, "w")
	mustEnqueue(t, f, specs(20)...)
	claimed := mustClaim(t, f, claimOf("w", 20, "images"))
	errs := make([]error, len(claimed))
	var all sync.WaitGroup
	for i, j := range claimed {
		o := succeeded
		if i == 7 {
			o.Result = json.RawMessage(`{"broken`)
		}
		all.Go(func() { errs[i] = f.Finish(t.Context(), lease(j), o) })
	}
	all.Wait()
	for i, err := range errs {
		if (err != nil) != (i == 7) || errors.Is(err, jobs.ErrLeaseLost) || errors.Is(err, jobs.ErrUnavailable) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func aJobIsFinishedByOneOfTwoThatTryTogether(t *testing.T, f *fixture) {
	other := f.open(t)
	f.worker(t, "w")
	for range 10 {
		mustEnqueue(t, f, spec())
		j := mustClaim(t, f, claimOf("w", 1, "images"))[0]
		var won, lost atomic.Int64
		var all sync.WaitGroup
		for i := range 6 {
			store := f.Store
			if i%2 == 1 {
				store = other
			}
			all.Go(func() {
				switch err := store.Finish(t.Context(), lease(j), succeeded); {
				case err == nil:
					won.Add(1)
				case errors.Is(err, jobs.ErrLeaseLost):
					lost.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 || lost.Load() != 5 {
			t.Fatalf("%d finished it, %d were refused", won.Load(), lost.Load())
		}
	}
}

// A worker's heartbeat, its finishes and everybody's housekeeping touch the same
// rows at once, in every order that they come in.
func nothingDeadlocks(t *testing.T, f *fixture) {
	other := f.open(t)
	f.worker(t, "w")
	const total = 300
	mustEnqueue(t, f, specs(total)...)
	done := make(chan struct{})
	var background, all sync.WaitGroup
	var running sync.Map
	for _, store := range []*postgres.Store{f.Store, other} {
		background.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				var pulses []jobs.Pulse
				running.Range(func(_, j any) bool {
					pulses = append(pulses, jobs.Pulse{Lease: lease(j.(jobs.Job)), Progress: &jobs.Progress{Done: 1}})
					return true
				})
				if _, err := store.Beat(t.Context(), "w", time.Minute, pulses); err != nil {
					t.Error(err)
				}
				if _, err := store.Age(t.Context(), time.Nanosecond*1000, 50); err != nil {
					t.Error(err)
				}
				if _, err := store.Promote(t.Context(), 50); err != nil {
					t.Error(err)
				}
				if _, err := store.Prune(t.Context(), jobs.Retention{Succeeded: time.Hour}, 10); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var finished atomic.Int64
	for i := range 8 {
		store := f.Store
		if i%2 == 1 {
			store = other
		}
		all.Go(func() {
			for finished.Load() < total {
				claimed, err := store.Claim(t.Context(), claimOf("w", 4, "images"))
				if err != nil {
					t.Error(err)
					return
				}
				for _, j := range claimed {
					running.Store(j.ID, j)
				}
				for n, j := range claimed {
					o := succeeded
					if j.Deliveries == 1 && n%2 == 0 {
						o = jobs.Outcome{State: jobs.Queued, Attempt: jobs.AttemptReleased}
					}
					if err := store.SaveCheckpoints(t.Context(), lease(j), []jobs.Checkpoint{{Key: "a"}, {Key: "b"}}); err != nil {
						t.Error(err)
					}
					if err := store.Finish(t.Context(), lease(j), o); err != nil {
						t.Error(err)
						return
					}
					running.Delete(j.ID)
					if o.State == jobs.Succeeded {
						finished.Add(1)
					}
				}
			}
		})
	}
	all.Wait()
	close(done)
	background.Wait()
	var deadlocks int
	if err := f.conn(t).QueryRow(t.Context(), "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&deadlocks); err != nil || deadlocks != 0 {
		t.Errorf("%d deadlocks, %v", deadlocks, err)
	}
}

func enqueueTxIsPartOfTheCallersTransaction(t *testing.T, f *fixture) {
	f.worker(t, "w")
	conn := f.conn(t)
	complete, err := jobs.NewKinds(jobs.Kind{Type: "image.derive", Queue: "images", Priority: 5}).Complete(
		jobs.Spec{Type: "image.derive", IdempotencyKey: "order-1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, commit := range []bool{false, true} {
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		entered, err := postgres.EnqueueTx(t.Context(), tx, complete)
		if err != nil || entered[0].Existing {
			t.Fatalf("enqueued %v, %v", entered, err)
		}
		if got := mustClaim(t, f, claimOf("w", 1, "images")); len(got) != 0 {
			t.Fatalf("a job was claimed before its transaction ended: %v", got)
		}
		end, want := tx.Rollback, 0
		if commit {
			end, want = tx.Commit, 1
		}
		if err := end(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := mustClaim(t, f, claimOf("w", 2, "images"))
		if len(got) != want {
			t.Fatalf("with commit %v, %d jobs were claimed", commit, len(got))
		}
		if want == 1 && got[0].ID != entered[0].Job.ID {
			t.Fatalf("claimed %s instead of %s", got[0].ID, entered[0].Job.ID)
		}
	}
}

func anElectionEndsWithItsConnection(t *testing.T, f *fixture) {
	other := f.open(t)
	won, err := f.Elect(t.Context(), "reconciler")
	if err != nil || won == nil {
		t.Fatalf("the first: %v, %v", won, err)
	}
	if second, err := other.Elect(t.Context(), "reconciler"); err != nil || second != nil {
		t.Fatalf("the second: %v, %v", second, err)
	}
	if err := won.Held(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.sql(t, `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'`)
	if err := won.Held(t.Context()); err == nil {
		t.Fatal("an election holds whose connection is gone")
	}
	// The server gives the lock back a moment after it has closed the connection.
	var second jobs.Election
	for second == nil {
		if second, err = other.Elect(t.Context(), "reconciler"); err != nil {
			t.Fatalf("after the first was lost: %v", err)
		}
	}
	second.Release()
	third, err := f.Elect(t.Context(), "reconciler")
	if err != nil || third == nil {
		t.Fatalf("after the second was released: %v, %v", third, err)
	}
	third.Release()
	if err := third.Held(t.Context()); err == nil {
		t.Fatal("a released election holds")
	}
}

func isUnavailable(err error) bool { return errors.Is(err, jobs.ErrUnavailable) }

// A job of a bulk may have tens of thousands of checkpoints. One statement that
// deletes those of many jobs would run into its time limit, each time anew.
func aJobOfManyCheckpointsIsPrunedInSteps(t *testing.T, f *fixture) {
	f.fill(t, 12)
	f.sql(t, `INSERT INTO job_checkpoints SELECT id, lpad(i::text, 5, '0'), '1', 1, 'w', now()
			FROM processing_jobs, generate_series(1, 1200) AS i`,
		`CREATE FUNCTION too_many() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF (SELECT count(*) FROM gone) > 5000 THEN RAISE 'too many at once'; END IF; RETURN NULL; END $$`,
		`CREATE TRIGGER too_many AFTER DELETE ON job_checkpoints REFERENCING OLD TABLE AS gone EXECUTE FUNCTION too_many()`)
	if n, err := f.Prune(t.Context(), jobs.Retention{}, 200); err != nil || n != 12 {
		t.Errorf("pruned %d of 12 (%v)", n, err)
	}
	var left int
	if err := f.conn(t).QueryRow(t.Context(), "SELECT count(*) FROM job_checkpoints").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d checkpoints are left (%v)", left, err)
	}
}

func heartbeatsDoNotWaitForSlowQuestions(t *testing.T, f *fixture) {
	f.worker(t, "w")
	mustEnqueue(t, f, spec())
	j := mustClaim(t, f, claimOf("w", 1, "images"))[0]
	lock, err := f.conn(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec(t.Context(), "LOCK TABLE job_attempts IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	var asking sync.WaitGroup
	for range 50 {
		asking.Go(func() {
			if _, err := f.Attempts(t.Context(), j.ID); err != nil {
				t.Error(err)
			}
		})
	}
	watch := f.conn(t)
	for waiting := 0; waiting < 5; { // as many as may ask at once
		if err := watch.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	if lost, err := f.Beat(t.Context(), "w", time.Minute, []jobs.Pulse{{Lease: lease(j)}}); err != nil || len(lost) > 0 {
		t.Errorf("lost %v (%v)", lost, err)
	}
	if err := lock.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	asking.Wait()
}
