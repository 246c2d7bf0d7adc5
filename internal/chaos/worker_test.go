package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/postgres"
	"github.com/spillway-media/spillway/store/redisbell"
	"github.com/spillway-media/spillway/store/sqlite"
)

const (
	kind    = "chaos.job"
	outputs = "jobs/"
	// lease is short, so that a storm of seconds sees many of them end.
	lease = 2 * time.Second
	slots = 4
)

var queues = []string{"images", "bulk"}

// tally is what a process tells when it leaves by itself.
type tally struct {
	// Lost leases, and writes Refused for it before they were sent.
	Succeeded, Lost, Refused uint64
	// Adopted outputs were there already; Blocked ones were sent although the
	// lease was lost, and met the other's.
	Adopted, Blocked int
}

func TestMain(m *testing.M) {
	if os.Getenv("CHAOS_WORKER") == "" {
		os.Exit(m.Run())
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// open opens what the environment names.
func open(ctx context.Context, log *slog.Logger) (jobs.Store, jobs.Doorbell, error) {
	if path := os.Getenv("CHAOS_SQLITE"); path != "" {
		store, err := sqlite.Open(ctx, path, log)
		return store, jobs.NewProcessBell(), err
	}
	var store jobs.Store
	for {
		opened, err := postgres.Open(ctx, os.Getenv("CHAOS_POSTGRES"), log)
		if err == nil {
			store = opened
			break
		}
		if ctx.Err() != nil {
			return nil, nil, err
		}
		// It was hired while the database was down.
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	bell, err := redisbell.Open(ctx, os.Getenv("CHAOS_REDIS"), redisbell.Config{}, log)
	return store, bell, err
}

// work is a worker process from its start until it is asked to leave.
func work() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, bell, err := open(ctx, log)
	if ctx.Err() != nil {
		return tell(tally{})
	}
	if err != nil {
		return err
	}
	blobs, err := blob.Open(ctx, blob.Config{Location: os.Getenv("CHAOS_BLOBS")}, log)
	if err != nil {
		return err
	}
	h := &handler{blobs: blobs}
	worker, err := newWorker(store, bell, h, log)
	if err != nil {
		return err
	}
	keeper, err := newKeeper(store, bell)
	if err != nil {
		return err
	}
	var wait sync.WaitGroup
	kept, leave := context.WithCancel(context.Background())
	wait.Go(func() {
		if err := keeper.Run(kept); err != nil {
			log.Error("keeper", "error", err)
		}
	})
	err = worker.Run(ctx)
	leave()
	wait.Wait()
	stats := worker.Stats()
	return errors.Join(err, store.Close(), tell(tally{
		Succeeded: stats.Succeeded, Lost: stats.Lost, Refused: stats.Fenced, Adopted: int(h.adopted.Load()), Blocked: int(h.blocked.Load()),
	}))
}

func tell(t tally) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return os.WriteFile(os.Getenv("CHAOS_TALLY"), text, 0o600)
}

func newWorker(store jobs.Store, bell jobs.Doorbell, h jobs.Handler, log *slog.Logger) (*jobs.Worker, error) {
	return jobs.NewWorker(jobs.WorkerConfig{
		Row:      jobs.WorkerRow{Provider: "vps", Market: jobs.VPS, Queues: queues, Version: "chaos"},
		Handlers: map[string]jobs.Handler{kind: h}, Slots: slots, Lease: lease,
		Poll: time.Second, Signals: 500 * time.Millisecond, DrainTimeout: 5 * time.Second, Grace: 2 * time.Second,
	}, store, bell, log)
}

func newKeeper(store jobs.Store, bell jobs.Doorbell) (*jobs.Keeper, error) {
	return jobs.NewKeeper(jobs.KeeperConfig{
		Promote: 300 * time.Millisecond, Rescue: 500 * time.Millisecond, Reconcile: time.Second, Queues: queues,
	}, store, bell, slog.New(slog.DiscardHandler))
}

// handler waits for as long as the job says, then writes one output.
type handler struct {
	blobs            blob.Store
	adopted, blocked atomic.Int64
}

type wish struct {
	Milliseconds int    `json:"ms"`
	Fault        string `json:"fault"`
}

func (h *handler) Need(*jobs.Job) jobs.Need { return jobs.Need{} }

func (h *handler) Do(ctx context.Context, task *jobs.Task) (json.RawMessage, error) {
	var w wish
	if err := json.Unmarshal(task.Job.Params, &w); err != nil {
		return nil, &jobs.Failure{Code: "bad", Reason: "The params are not readable.", Permanent: true, Cause: err}
	}
	timer := time.NewTimer(time.Duration(w.Milliseconds) * time.Millisecond)
	defer timer.Stop()
	if w.Fault == "deadly" {
		// As the kernel does when memory is out.
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if w.Fault == "deaf" {
		<-timer.C
		return h.writeLate(ctx, task)
	}
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	switch {
	case w.Fault == "always":
		return nil, &jobs.Failure{Code: "always", Reason: "It always fails.", Permanent: true}
	case w.Fault == "once" && task.Job.Attempts == 0:
		return nil, errors.New("the first attempt fails")
	}
	return h.write(ctx, task)
}

// writeLate does what a handler must not: it heeds neither the end of its
// context nor the fence.
func (h *handler) writeLate(ctx context.Context, task *jobs.Task) (json.RawMessage, error) {
	ctx = context.WithoutCancel(ctx)
	err := put(ctx, blob.Fenced(h.blobs, task.Fence), task)
	if errors.Is(err, jobs.ErrLeaseLost) {
		err = put(ctx, h.blobs, task)
		if errors.Is(err, blob.ErrExists) {
			h.blocked.Add(1)
			err = nil
		}
	}
	return json.RawMessage(`{"late":true}`), err
}

// put gives the output a name that only one attempt can take.
func put(ctx context.Context, store blob.Store, task *jobs.Task) error {
	body := fmt.Appendf(nil, "delivery %d", task.Job.Deliveries)
	_, err := store.Put(ctx, outputs+task.Job.ID.String(), bytes.NewReader(body), int64(len(body)), blob.PutOptions{IfNoneMatch: true})
	return err
}

func (h *handler) write(ctx context.Context, task *jobs.Task) (json.RawMessage, error) {
	err := put(ctx, blob.Fenced(h.blobs, task.Fence), task)
	switch {
	case errors.Is(err, blob.ErrExists):
		h.adopted.Add(1)
	case err != nil:
		return nil, err
	}
	return json.RawMessage(`{"done":true}`), nil
}
