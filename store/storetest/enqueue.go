package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

func enqueueRules() []rule {
	return []rule{
		{"a job is kept as it was asked for", jobIsKept},
		{"ids grow with the time of arrival, within a batch too", idsGrow},
		{"a batch is entered whole or not at all", batchIsWhole},
		{"a batch of the largest size is entered", largestBatch},
		{"a job that does not exist is not found", jobNotFound},
	}
}

func jobIsKept(f *fixture) {
	spec := jobs.Spec{
		Type: "bulk.derive", Queue: "bulk", Priority: 8, Tenant: "Läufer & Söhne 'x'", Input: "https://example.com/ä?b=c#日本",
		Params:         json.RawMessage(`{"sizes":"300x0","deep":{"n":[1,2.5,null,true,"\u00e4"]}}`),
		IdempotencyKey: "key-1", UniqueKey: "key-2", MaxAttempts: 7, WaitLimit: 90 * time.Second, WorkLimit: 25 * time.Minute,
		EstimatedSeconds: 12.25, Checkpointable: true, Webhook: "https://example.com/hook?secret=1",
	}
	entered, err := f.Store.Enqueue(f.ctx, []jobs.Spec{spec})
	f.must(err)
	j := f.job(entered[0].Job.ID)
	f.equal("what was asked for", j.Spec, spec)
	f.equal("the job that Enqueue answers", entered[0].Job, j)
	if entered[0].Existing {
		f.Error("the first job is said to exist already")
	}
	if j.State != jobs.Queued || j.Rank != 8 || j.Attempts != 0 || j.Deliveries != 0 || j.Lost != 0 || j.Version < 1 {
		f.Errorf("the new job is %+v", j)
	}
	if j.CreatedAt.IsZero() || !j.EligibleAt.Equal(j.CreatedAt) || !j.Ready(j.CreatedAt) {
		f.Errorf("created at %v, eligible at %v; both should be the same moment", j.CreatedAt, j.EligibleAt)
	}
	if !j.StartedAt.IsZero() || !j.FinishedAt.IsZero() || !j.LeaseUntil.IsZero() || j.Token != "" || j.CancelAsked {
		f.Errorf("a job that nobody has started has %+v", j)
	}
}

func idsGrow(f *fixture) {
	list := append(f.enqueue(many(20)...), f.enqueue(many(3)...)...)
	if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != 23 || list[0] < 1 {
		f.Errorf("ids are %v", list)
	}
}

// batchIsWhole gives a batch too little time: what is in after that is all or
// nothing, and nothing when it was over before.
func batchIsWhole(f *fixture) {
	over, cancel := context.WithCancelCause(f.ctx)
	cancel(errors.New("the caller has left"))
	if _, err := f.Store.Enqueue(over, many(10)); err == nil {
		f.Error("no error though the caller had left")
	}
	if n := len(f.claim(20)); n != 0 {
		f.Fatalf("%d jobs are in after an enqueue that failed", n)
	}
	for _, patience := range []time.Duration{time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond} {
		short, cancel := context.WithTimeout(f.ctx, patience)
		_, err := f.Store.Enqueue(short, many(500))
		cancel()
		n := len(f.claim(5000)) // an earlier one's batch may have come in late
		if n%500 != 0 || err == nil && n == 0 {
			f.Fatalf("%d jobs of batches of 500 are in (%v)", n, err)
		}
	}
}

func largestBatch(f *fixture) {
	params := json.RawMessage(`{"note":"` + strings.Repeat("x", 500) + `"}`)
	list := f.enqueue(many(jobs.MaxBatch, func(s *jobs.Spec) { s.Params = params })...)
	if n := len(f.claim(jobs.MaxBatch)); n != len(list) {
		f.Errorf("%d of %d jobs can be claimed", n, len(list))
	}
}

func jobNotFound(f *fixture) {
	_, err := f.Store.Job(f.ctx, 12345)
	f.wants(err, jobs.ErrNotFound)
	_, err = f.Store.Cancel(f.ctx, 12345, "")
	f.wants(err, jobs.ErrNotFound)
	_, err = f.Store.Retry(f.ctx, 12345)
	f.wants(err, jobs.ErrNotFound)
	f.wants(f.Store.Finish(f.ctx, jobs.Lease{ID: 12345, Token: "x"}, succeeded()), jobs.ErrLeaseLost)
	f.wants(f.Store.SaveCheckpoints(f.ctx, jobs.Lease{ID: 12345, Token: "x"}, []jobs.Checkpoint{{Key: "a", Value: json.RawMessage(`1`)}}), jobs.ErrLeaseLost)
	rescued, err := f.Store.Rescue(f.ctx, jobs.Lease{ID: 12345}, lost())
	f.must(err)
	if rescued {
		f.Error("a job that is not there was rescued")
	}
}
