package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/sandbox"
	"github.com/spillway-media/spillway/jobs"
)

// tool is a handler that has a tool of another project do the work: here a
// shell that starts a child of its own, tells both numbers, and hangs.
type tool struct{ dir string }

func (tool) Need(*jobs.Job) jobs.Need { return jobs.Need{} }

func (h tool) Do(ctx context.Context, task *jobs.Task) (json.RawMessage, error) {
	if string(task.Job.Params) == `{"quick":true}` {
		return nil, nil
	}
	script := "sleep 600 & echo $! $$ > " + filepath.Join(h.dir, "pids.part") + " && mv " + filepath.Join(h.dir, "pids.part") + " " + h.file(task.Job.ID) + "; wait"
	_, err := sandbox.Run(ctx, sandbox.Limits{Time: 10 * time.Minute}, "sh", "-c", script)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return nil, err
}

func (h tool) file(id jobs.ID) string { return filepath.Join(h.dir, id.String()) }

// pids are those of the tool and its child, once they run.
func (h tool) pids(id jobs.ID) (all []int) {
	text, err := os.ReadFile(h.file(id))
	if err != nil {
		return nil
	}
	for _, word := range strings.Fields(string(text)) {
		pid, _ := strconv.Atoi(word)
		all = append(all, pid)
	}
	return all
}

// alive says whether any of the processes is left.
func alive(pids []int) bool {
	for _, pid := range pids {
		if !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
	}
	return false
}

// workshop runs one worker with one slot, and its keeper, in this process.
func workshop(t *testing.T, p *place) tool {
	t.Helper()
	h := tool{t.TempDir()}
	worker, err := jobs.NewWorker(jobs.WorkerConfig{
		Row:      jobs.WorkerRow{Provider: "vps", Market: jobs.VPS, Queues: queues},
		Handlers: map[string]jobs.Handler{kind: h}, Slots: 1, Lease: lease, Poll: 200 * time.Millisecond,
		Signals: 200 * time.Millisecond, DrainTimeout: -1,
	}, p.store, p.bell, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return h
}

// See bug-reports 21: one job that freezes its tool is ended by its limit, with
// all processes of the tool, and the next one is done.
func TestBug21AToolThatFreezesIsEndedAtTheLimitAndTheNextJobIsDone(t *testing.T) {
	place := openSQLite(t)
	h := workshop(t, place)
	frozen := enqueueSpec(t, place, jobs.Spec{Type: kind, WorkLimit: time.Second, MaxAttempts: 1})
	next := enqueueSpec(t, place, jobs.Spec{Type: kind, Params: json.RawMessage(`{"quick":true}`)})
	await(t, "the tool to run", func() bool { return len(h.pids(frozen)) == 2 })
	await(t, "the next job", func() bool { return look(t, place, next).State == jobs.Succeeded })
	if job := look(t, place, frozen); job.State != jobs.Failed || job.Code != jobs.CodeWorkLimit {
		t.Errorf("the frozen job became %+v", job.Document())
	}
	await(t, "the end of the tool and its child", func() bool { return !alive(h.pids(frozen)) })
}

// See bug-reports 24: a cancel ends the handler and the processes that it has
// started, the job is cancelled and stays so, and its worker goes on.
func TestBug24ACancelEndsTheToolAndItsChildrenForGood(t *testing.T) {
	place := openSQLite(t)
	h := workshop(t, place)
	id := enqueueSpec(t, place, jobs.Spec{Type: kind})
	await(t, "the tool to run", func() bool { return len(h.pids(id)) == 2 })
	if _, err := place.client.Cancel(t.Context(), id, "Not wanted any more."); err != nil {
		t.Fatal(err)
	}
	await(t, "a final state", func() bool { return look(t, place, id).State.Final() })
	await(t, "the end of the tool and its child", func() bool { return !alive(h.pids(id)) })
	next := enqueueSpec(t, place, jobs.Spec{Type: kind, Params: json.RawMessage(`{"quick":true}`)})
	await(t, "the next job", func() bool { return look(t, place, next).State == jobs.Succeeded })
	if job := look(t, place, id); job.State != jobs.Cancelled || job.Deliveries != 1 {
		t.Errorf("the cancelled job became %+v", job.Document())
	}
}

func enqueueSpec(t *testing.T, p *place, spec jobs.Spec) jobs.ID {
	t.Helper()
	done, err := p.client.Enqueue(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return done[0].Job.ID
}
