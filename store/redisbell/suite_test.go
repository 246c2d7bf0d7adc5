package redisbell_test

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/internal/testservices"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/postgres"
	"github.com/spillway-media/spillway/store/redisbell"
	"github.com/spillway-media/spillway/store/storetest"
)

// TestPostgresAndRedisKeepEveryRule has a bell beside the store: the length of
// each queue's list is what SQL says.
func TestPostgresAndRedisKeepEveryRule(t *testing.T) {
	pg, server := testservices.Postgres(t, "fsync=off"), testservices.Redis(t)
	rules := 0
	storetest.Run(t, func(t *testing.T) *storetest.Backend {
		rules++
		return backend(t, pg, server, fmt.Sprintf("rule%d:", rules))
	})
}

// backend makes a database and a prefix of its own for one rule.
func backend(t *testing.T, pg *testservices.PG, server *testservices.RedisServer, prefix string) *storetest.Backend {
	dsn := pg.NewDatabase(t)
	if _, _, err := postgres.Migrate(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	var moved atomic.Int64
	reopen := func(testing.TB) jobs.Store {
		s, err := postgres.Open(t.Context(), dsn, slog.New(slog.DiscardHandler),
			postgres.WithClockOffset(func() time.Duration { return time.Duration(moved.Load()) }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	bell, _ := openWith(t, server.URL, redisbell.Config{Prefix: prefix, Timeout: 20 * time.Second})
	lists := client(t, server.URL)
	return &storetest.Backend{
		Store: reopen(t),
		Bell:  bell,
		LLEN: func(t testing.TB, queue string) int64 {
			n, err := lists.LLen(t.Context(), prefix+"queue:"+queue).Result()
			if err != nil {
				t.Fatal(err)
			}
			return n
		},
		Shift:  func(d time.Duration) { moved.Add(int64(d)) },
		Reopen: reopen,
		Crash:  pg.Restart,
		Exec: func(t testing.TB, sql string) {
			conn, err := pgx.Connect(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			if _, err := conn.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		},
	}
}
