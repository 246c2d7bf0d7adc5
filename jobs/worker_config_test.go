package jobs_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/jobs/jobstest"
)

func TestAWorkersSettingsAreChecked(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*jobs.WorkerConfig)
		want   string // part of the fault; "" is none
	}{
		{"enough is told", func(*jobs.WorkerConfig) {}, ""},
		{"no queue", func(c *jobs.WorkerConfig) { c.Row.Queues = nil }, "Row.Queues is empty"},
		{"a queue with a strange name", func(c *jobs.WorkerConfig) { c.Row.Queues = []string{"a b"} }, `"a b"`},
		{"no handler", func(c *jobs.WorkerConfig) { c.Handlers = nil }, "Handlers is empty"},
		{"an empty handler", func(c *jobs.WorkerConfig) { c.Handlers["x"] = nil }, `none for "x"`},
		{"fewer slots than none", func(c *jobs.WorkerConfig) { c.Slots = -1 }, "Slots is -1"},
		{"a lease too short to keep", func(c *jobs.WorkerConfig) { c.Lease = time.Millisecond }, "Lease is 1ms"},
		{"time that runs backwards", func(c *jobs.WorkerConfig) { c.Poll, c.Grace = -1, -1 }, "Grace is -1ns"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := jobs.WorkerConfig{
				Row: jobs.WorkerRow{Queues: []string{"images"}}, Handlers: map[string]jobs.Handler{"work": takes(time.Second)},
			}
			tc.change(&cfg)
			_, err := jobs.NewWorker(cfg, jobstest.NewStore(time.Now), jobs.NewProcessBell(), slog.New(slog.DiscardHandler))
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("the fault is %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestTwoWorkersOfOneHostHaveTwoNames(t *testing.T) {
	ids := map[string]bool{}
	for range 2 {
		w, err := jobs.NewWorker(jobs.WorkerConfig{
			Row:      jobs.WorkerRow{Hostname: "host", Queues: []string{"images"}},
			Handlers: map[string]jobs.Handler{"work": takes(time.Second)},
		}, jobstest.NewStore(time.Now), jobs.NewProcessBell(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(w.ID(), "host-") || ids[w.ID()] {
			t.Errorf("the id is %q after %v", w.ID(), ids)
		}
		ids[w.ID()] = true
		if s := w.Stats(); s.Condition != jobs.WorkerStarting || s.Slots < 1 {
			t.Errorf("stats: %+v", s)
		}
	}
}
