package chaos_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/testservices"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/postgres"
	"github.com/spillway-media/spillway/store/redisbell"
	"github.com/spillway-media/spillway/store/sqlite"
)

// backEnds are what the binary offers: nothing to install, and a cluster.
var backEnds = []struct {
	name string
	open func(t *testing.T) *place
}{
	{"SQLite", openSQLite},
	{"Postgres and Redis", openCluster},
}

// harm is one thing that goes wrong. All is there again when do returns.
type harm struct {
	name string
	do   func(t *testing.T)
}

// place is where jobs are kept, as the test sees it and as the workers do.
type place struct {
	env []string // tells a worker process where all this is
	// settings tell it to the real program, folder is that of blobs.
	settings []string
	folder   string
	store    jobs.Store
	bell     jobs.Doorbell
	client   *jobs.Client
	blobs    blob.Store
	// harm lists what can be done to the services and the crew.
	harm func(c *crew) []harm
	// depth is what others read of the bell, forget makes it lose everything;
	// nil where the bell has no depth.
	depth  func(t *testing.T) map[string]int64
	forget func(t *testing.T)
}

func (p *place) complete(t *testing.T) *place {
	t.Helper()
	dir := t.TempDir()
	blobs, err := blob.Open(t.Context(), blob.Config{Location: dir}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p.blobs, p.folder = blobs, dir
	p.env = append(p.env, "CHAOS_BLOBS="+dir)
	p.client = jobs.NewClient(p.store, p.bell, jobs.NewKinds(jobs.Kind{Type: kind, Queue: queues[0], Priority: jobs.DefaultPriority}))
	return p
}

func openSQLite(t *testing.T) *place {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jobs.db")
	store, err := sqlite.Open(t.Context(), path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	p := &place{
		env: []string{"CHAOS_SQLITE=" + path}, store: store, bell: jobs.NewProcessBell(),
		harm: (*crew).harm,
	}
	return p.complete(t)
}

func openCluster(t *testing.T) *place {
	t.Helper()
	server, redisServer := testservices.Postgres(t), testservices.Redis(t)
	dsn := server.NewDatabase(t)
	if _, _, err := postgres.Migrate(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	store, err := postgres.Open(t.Context(), dsn, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	bell, err := redisbell.Open(t.Context(), redisServer.URL, redisbell.Config{}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bell.Close() })
	options, err := redis.ParseURL(redisServer.URL)
	if err != nil {
		t.Fatal(err)
	}
	watch := redis.NewClient(options)
	t.Cleanup(func() { _ = watch.Close() })
	flush := func(t *testing.T) {
		t.Helper()
		_ = watch.FlushAll(t.Context()).Err() // while it is away there is nothing to flush
	}
	restart := func(t *testing.T) {
		t.Helper()
		redisServer.Kill()
		pause(t, time.Second)
		redisServer.Restart()
	}
	crash := func(t *testing.T) {
		t.Helper()
		server.Kill()
		pause(t, 500*time.Millisecond)
		server.Restart()
	}
	p := &place{
		env:      []string{"CHAOS_POSTGRES=" + dsn, "CHAOS_REDIS=" + redisServer.URL},
		settings: []string{"--database", dsn, "--redis", redisServer.URL}, store: store, bell: bell,
		harm: func(c *crew) []harm {
			return append(c.harm(), harm{"Redis flushed", flush}, harm{"Redis killed and restarted", restart}, harm{"Postgres killed and restarted", crash})
		},
		depth: func(t *testing.T) map[string]int64 {
			t.Helper()
			return lengths(t, watch)
		},
		forget: func(t *testing.T) {
			t.Helper()
			if err := watch.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		},
	}
	return p.complete(t)
}

// lengths asks Redis as an operator would.
func lengths(t *testing.T, watch *redis.Client) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for _, queue := range queues {
		n, err := watch.LLen(t.Context(), "queue:"+queue).Result()
		if err != nil {
			t.Fatal(err)
		}
		all[queue] = n
	}
	return all
}

// keep runs a keeper beside the test, when all workers have left.
func (p *place) keep(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	keeper, err := newKeeper(p.store, p.bell)
	if err != nil {
		t.Fatal(err)
	}
	go func() { ended <- keeper.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// outputs reads what the jobs have written, by job.
func (p *place) outputs(t *testing.T) map[jobs.ID]string {
	t.Helper()
	all := map[jobs.ID]string{}
	after := ""
	for {
		page, err := p.blobs.List(t.Context(), outputs, after, 500)
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range page {
			id, err := jobs.ParseID(strings.TrimPrefix(info.Key, outputs))
			if err != nil {
				t.Fatal(err)
			}
			all[id] = info.Key
			after = info.Key
		}
		if len(page) == 0 {
			return all
		}
	}
}
