package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/testservices"
)

func main() {
	var o options
	flag.BoolVar(&o.short, "short", false, "about a minute: to see that all works, not to quote")
	flag.StringVar(&o.doc, "doc", "", "put the tables into this Markdown file, between its markers")
	flag.StringVar(&o.only, "only", "", "drain, backlog or reconcile")
	flag.Parse()
	var err error
	owner := &owner{}
	owner.run(func() { err = run(context.Background(), o, owner) })
	if err != nil {
		fmt.Fprintln(os.Stderr, "jobs:", err)
		os.Exit(1)
	}
}

type options struct {
	short     bool
	doc, only string
}

func (o options) wants(section string) bool { return o.only == "" || o.only == section }

// scale is the size of one measurement, given that of the full run.
func (o options) scale(full int) int {
	if o.short {
		return full / 10
	}
	return full
}

// owner has the services of the run, as a test would have them. What it does
// not define would panic: it is not to be used.
type owner struct {
	testing.TB
	cleanups []func()
}

func (o *owner) Helper()          {}
func (o *owner) Name() string     { return "bench-jobs" }
func (o *owner) Cleanup(f func()) { o.cleanups = append(o.cleanups, f) }
func (o *owner) Failed() bool     { return false }
func (o *owner) Context() context.Context {
	return context.Background()
}

func (o *owner) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
func (o *owner) Log(args ...any)                 { fmt.Fprintln(os.Stderr, args...) }
func (o *owner) Error(args ...any)               { fmt.Fprintln(os.Stderr, args...) }
func (o *owner) Errorf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

func (o *owner) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	runtime.Goexit()
}

func (o *owner) Fatalf(format string, args ...any) { o.Fatal(fmt.Sprintf(format, args...)) }

func (o *owner) TempDir() string {
	dir, err := os.MkdirTemp("", "bench-jobs-")
	if err != nil {
		o.Fatal(err)
	}
	o.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// run ends what f started, also when f gave up.
func (o *owner) run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
	for i := len(o.cleanups) - 1; i >= 0; i-- {
		o.cleanups[i]()
	}
}

// services are started once; each contender has its own database in them.
type services struct {
	owner    *owner
	postgres *testservices.PG
	redis    *testservices.RedisServer
}

// folder is a new one, on the disk that temporary files are on.
func (s *services) folder() string { return s.owner.TempDir() }

func (s *services) file() string { return filepath.Join(s.folder(), "jobs.db") }

func run(ctx context.Context, o options, owner *owner) error {
	s := &services{owner: owner, postgres: testservices.Postgres(owner), redis: testservices.Redis(owner)}
	page := page{}
	if o.wants("drain") {
		rows, err := compare(ctx, o, s)
		if err != nil {
			return err
		}
		page.section("drain", drainTable(rows))
	}
	if o.wants("backlog") {
		rows, err := backlogs(ctx, o, s)
		if err != nil {
			return err
		}
		page.section("backlog", backlogTable(rows))
	}
	if o.wants("reconcile") {
		rows, err := repairs(ctx, o, s)
		if err != nil {
			return err
		}
		page.section("reconcile", repairTable(rows))
	}
	fmt.Print(page.text())
	if o.doc != "" {
		return page.writeInto(o.doc)
	}
	return nil
}

// compare runs all contenders in turn, three rounds, and keeps the best of
// each: the machine's own noise only ever takes away.
func compare(ctx context.Context, o options, s *services) ([]result, error) {
	list := contenders(o, s)
	rounds := 3
	if o.short {
		rounds = 1
	}
	best := make([]result, len(list))
	for round := range rounds {
		for i, c := range list {
			limited, cancel := context.WithTimeout(ctx, 5*time.Minute)
			r, err := c.measure(limited)
			cancel()
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(os.Stderr, "round %d: %s: %.0f in, %.0f out a second\n", round+1, c.name, r.enqueued, r.finished)
			best[i].contender = c
			best[i].enqueued = max(best[i].enqueued, r.enqueued)
			best[i].finished = max(best[i].finished, r.finished)
		}
	}
	return best, nil
}

func contenders(o options, s *services) []contender {
	return []contender{
		{"Spillway on SQLite", "every commit on disk (synchronous=FULL)", o.scale(20000), func(ctx context.Context) (system, error) {
			return spillwaySQLite(ctx, s.file())
		}},
		{"River on SQLite", "every commit on disk (synchronous=FULL)", o.scale(3000), func(ctx context.Context) (system, error) {
			return riverSQLite(ctx, s.folder(), 0)
		}},
		{"River on SQLite, fetching each millisecond", "every commit on disk (synchronous=FULL)", o.scale(3000), func(ctx context.Context) (system, error) {
			return riverSQLite(ctx, s.folder(), time.Millisecond)
		}},
		{"Spillway on Postgres and Redis", "every commit on disk", o.scale(10000), func(ctx context.Context) (system, error) {
			return spillwayPostgres(ctx, s.postgres.NewDatabase(s.owner), s.redis.URL)
		}},
		{"River on Postgres", "every commit on disk", o.scale(3000), func(ctx context.Context) (system, error) {
			return riverPostgres(ctx, s.postgres.NewDatabase(s.owner), 0)
		}},
		{"River on Postgres, fetching each millisecond", "every commit on disk", o.scale(10000), func(ctx context.Context) (system, error) {
			return riverPostgres(ctx, s.postgres.NewDatabase(s.owner), time.Millisecond)
		}},
		{"asynq on Redis", "none: Redis in memory, as the test server has it", o.scale(20000), func(ctx context.Context) (system, error) {
			return openAsynq(ctx, testservices.Redis(s.owner).URL)
		}},
	}
}
