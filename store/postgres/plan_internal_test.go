package postgres

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/internal/testservices"
)

// explain answers the plan of a statement, run with its arguments.
func explain(t *testing.T, conn *pgx.Conn, text string, args pgx.NamedArgs) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) "+complete(strings.TrimSuffix(strings.TrimSpace(text), ";"), 0), args) //nolint:misspell // SQL spells it so
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func TestPlansUseTheIndexesOfReadyJobs(t *testing.T) {
	pg := testservices.Postgres(t, "fsync=off")
	dsn := pg.NewDatabase(t)
	if _, _, err := Migrate(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	config, err := parse(dsn) // as the store connects
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(t.Context(), config.ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	fill := func(from, to int, state string) {
		t.Helper()
		ready := state == "queued"
		if _, err := conn.Exec(t.Context(), fmt.Sprintf(`
INSERT INTO processing_jobs (type, queue, priority, rank, tenant, fair_tag, state, ready, created_at, eligible_at, finished_at, max_attempts, work_limit)
SELECT 'image.derive', (array['images', 'documents', 'bulk'])[1 + i %% 3], 1 + i %% 10, 1 + i %% 10, 't' || i %% 50, i,
	'%s', %v, now() - i * interval '1 ms', now() - i * interval '1 ms', CASE WHEN NOT %v THEN now() END, 5, '1 hour'
FROM generate_series(%d, %d) AS s (i)`, state, ready, ready, from, to)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), `INSERT INTO workers (id, market, status, registered_at) VALUES ('w', 'vps', 'active', now())`); err != nil {
		t.Fatal(err)
	}
	fill(1, 100_000, "succeeded")
	fill(1, 20_000, "queued")
	if _, err := conn.Exec(t.Context(), `
INSERT INTO job_attempts (job_id, number, worker_id, status, started_at, finished_at, queue)
SELECT id, 1, 'w', 'succeeded', created_at, created_at + interval '1 second', queue FROM processing_jobs WHERE state = 'succeeded'`); err != nil {
		t.Fatal(err)
	}
	queues := []string{"images", "documents", "bulk"}
	statements := map[string]struct {
		text string
		args pgx.NamedArgs
		once bool // it reads no more than it answers
	}{
		"heads": {headsSQL, pgx.NamedArgs{"queues": queues, "ranks": []int16{0, 0, 0}, "tags": []float64{0, 0, 0},
			"ids": []int64{0, 0, 0}, "worker": "w", "spot": false}, false},
		"take": {takeSQL, pgx.NamedArgs{"queue": "images", "worker": "w", "lease": 60_000_000, "n": 4, "spot": false,
			"from_rank": 0, "from_tag": 0.0, "from_id": 0, "to_rank": 11, "to_tag": 0.0, "to_id": 0}, true},
		"tags":     {tagsSQL, pgx.NamedArgs{"queues": queues, "ranks": []int16{5, 5, 5}, "tenants": []string{"t1", "t2", ""}}, true},
		"queues":   {queuesSQL, pgx.NamedArgs{"most": 100_000}, false},
		"give up":  {giveUpSQL, pgx.NamedArgs{"most": 100, "code": "c", "reason": "r"}, true},
		"promote":  {promoteSQL, pgx.NamedArgs{"most": 100}, true},
		"age":      {ageSQL, pgx.NamedArgs{"most": 100, "every": 3_600_000_000}, true},
		"expired":  {expiredSQL, pgx.NamedArgs{"most": 100}, false},
		"demand":   {demandSQL, pgx.NamedArgs{"queues": queues}, true},
		"arrivals": {arrivalsSQL, pgx.NamedArgs{"window": 300_000_000}, false},
		"usage":    {usageSQL, pgx.NamedArgs{"from": time.Now().Add(-time.Hour), "until": time.Now()}, false},
		"fleet":    {fleetSQL, pgx.NamedArgs{"since": nil, "ids": []string{}}, false},
		"held by":  {heldBySQL, pgx.NamedArgs{"id": "w"}, true},
	}
	check := func(t *testing.T, when string) {
		for name, s := range statements {
			t.Run(name+" "+when, func(t *testing.T) {
				plan := explain(t, conn, s.text, s.args)
				if strings.Contains(plan, "Seq Scan on processing_jobs") || strings.Contains(plan, "Seq Scan on job_attempts") {
					t.Errorf("history is read:\n%s", plan)
				}
				sorted := regexp.MustCompile(`Sort Key: (j\.)?rank, (j\.)?fair_tag|Sort Key: j\.eligible_at|Sort Key: t\.`).MatchString(plan)
				if sorted && s.once {
					t.Errorf("the backlog is sorted:\n%s", plan)
				}
			})
		}
	}
	check(t, "before the table was ever analysed")
	if _, err := conn.Exec(t.Context(), "VACUUM ANALYSE processing_jobs"); err != nil {
		t.Fatal(err)
	}
	check(t, "when it was analysed")
}
