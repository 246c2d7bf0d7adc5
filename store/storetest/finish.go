package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

func finishRules() []rule {
	return []rule{
		{"a job succeeds with its result", finishSucceeds},
		{"a job fails for good with its reason", finishFails},
		{"a job is tried again after its backoff", finishRetries},
		{"a released job burns nothing and can be taken at once", finishReleases},
		{"failed attempts, deliveries and lost leases are three counts", threeCounts},
		{"an outcome that no running job may have is refused", impossibleOutcome},
		{"a job whose cancel was asked is never queued again", askedIsNotQueued},
		{"a job whose cancel was asked may still succeed or fail", askedMaySucceed},
		{"a worker's last completion is noted", lastCompletion},
		{"versions grow with every change", versionsGrow},
	}
}

func finishSucceeds(f *fixture) {
	j := f.begin()
	o := succeeded()
	o.Progress = &jobs.Progress{Done: 2, Total: 2, Note: "all"}
	f.finish(j, o)
	got := f.is(j.ID, jobs.Succeeded)
	f.equal("the result", got.Result, json.RawMessage(`{"done":true}`))
	f.equal("the progress", got.Progress, *o.Progress)
	if got.FinishedAt.Before(got.StartedAt) || got.Token != "" || got.WorkerID != worker || got.Attempts != 0 || got.Deliveries != 1 {
		f.Errorf("the job is %+v", got)
	}
	a := f.attempts(j.ID)
	if len(a) != 1 || a[0].Status != jobs.AttemptSucceeded || !a[0].FinishedAt.Equal(got.FinishedAt) {
		f.Errorf("its attempts are %+v", a)
	}
}

func finishFails(f *fixture) {
	j := f.begin()
	f.beat(jobs.Pulse{Lease: leaseOf(j), Progress: &jobs.Progress{Done: 4, Total: 9}})
	f.finish(j, failed())
	got := f.is(j.ID, jobs.Failed)
	if got.Code != "bad-input" || got.Reason != "It is no picture." || got.Attempts != 1 || got.FinishedAt.IsZero() || got.Progress.Done != 4 {
		f.Errorf("the job is %+v", got)
	}
	if a := f.attempts(j.ID)[0]; a.Status != jobs.AttemptFailed || a.Code != "bad-input" || a.Reason != got.Reason {
		f.Errorf("its attempt is %+v", a)
	}
	if n := len(f.claim(1)); n != 0 {
		f.Error("it can be claimed")
	}
}

func finishRetries(f *fixture) {
	j := f.begin()
	f.finish(j, retried(30*time.Second))
	got := f.is(j.ID, jobs.Queued)
	if got.Attempts != 1 || got.Code != "timeout" || !got.FinishedAt.IsZero() || got.Token != "" {
		f.Errorf("the job is %+v", got)
	}
	f.Shift(29 * time.Second)
	f.promote()
	if n := len(f.claim(1)); n != 0 {
		f.Fatal("it was claimed before its time")
	}
	f.Shift(2 * time.Second)
	f.equal("what became ready", f.promote(), []jobs.Moved{{ID: j.ID, Queue: queue, State: jobs.Queued, Ready: true}})
	if again := f.start(j.ID); again.Deliveries != 2 || again.Attempts != 1 || again.Token == j.Token {
		f.Errorf("the second delivery is %+v", again)
	}
}

func finishReleases(f *fixture) {
	j := f.begin()
	f.save(j, part("page-1", `1`))
	o := released()
	o.Progress = &jobs.Progress{Done: 1, Total: 3}
	f.finish(j, o)
	got := f.is(j.ID, jobs.Queued)
	if got.Attempts != 0 || got.Lost != 0 || got.Progress.Done != 1 {
		f.Errorf("the job is %+v", got)
	}
	again := f.start(j.ID)
	if len(f.parts(j.ID)) != 1 || again.Deliveries != 2 {
		f.Errorf("it goes on as %+v", again)
	}
	f.equal("its attempts", f.statuses(j.ID), []jobs.AttemptStatus{jobs.AttemptReleased, jobs.AttemptRunning})
	later := released()
	later.Delay = time.Minute
	f.finish(again, later)
	if n := len(f.claim(1)); n != 0 {
		f.Error("a job released for later was claimed at once")
	}
}

func threeCounts(f *fixture) {
	j := f.begin()
	check := func(attempts, deliveries, lost int) {
		f.Helper()
		got := f.job(j.ID)
		f.equal("attempts, deliveries, lost", []int{got.Attempts, got.Deliveries, got.Lost}, []int{attempts, deliveries, lost})
	}
	check(0, 1, 0)
	f.lose()
	check(0, 1, 1)
	f.start(j.ID)
	f.lose()
	check(0, 2, 2)
	f.finish(f.start(j.ID), retried(0))
	check(1, 3, 0)
	f.start(j.ID)
	f.lose()
	check(1, 4, 1)
	f.finish(f.start(j.ID), released())
	check(1, 5, 0)
	f.finish(f.start(j.ID), failed())
	check(2, 6, 0)
}

func impossibleOutcome(f *fixture) {
	j := f.begin()
	f.unchanged(j.ID, func() {
		for _, o := range []jobs.Outcome{
			{}, {State: jobs.Running, Attempt: jobs.AttemptRunning}, {State: jobs.Succeeded, Attempt: jobs.AttemptFailed},
			{State: jobs.Queued, Attempt: jobs.AttemptSucceeded}, {State: jobs.Failed, Attempt: jobs.AttemptReleased},
		} {
			if err := f.Store.Finish(f.ctx, leaseOf(j), o); err == nil {
				f.Errorf("%q by an attempt that is %q was carried out", o.State, o.Attempt)
			}
		}
	})
}

func (f *fixture) cancel(id jobs.ID) jobs.Job {
	f.Helper()
	j, err := f.Store.Cancel(f.ctx, id, "It is not wanted any more.")
	f.must(err)
	return j
}

func askedIsNotQueued(f *fixture) {
	for _, o := range []jobs.Outcome{retried(time.Minute), retried(0), released()} {
		j := f.begin()
		f.cancel(j.ID)
		f.finish(j, o)
		got := f.is(j.ID, jobs.Cancelled)
		if got.Code != jobs.CodeCancelled || got.Reason == "" || got.FinishedAt.IsZero() {
			f.Errorf("the job is %+v", got)
		}
		if s := f.statuses(j.ID); s[0] == jobs.AttemptRunning {
			f.Error("its attempt runs for ever")
		}
	}
	f.Shift(time.Hour)
	f.promote()
	if n := len(f.claim(9)); n != 0 {
		f.Errorf("%d cancelled jobs were claimed", n)
	}
}

func askedMaySucceed(f *fixture) {
	for _, o := range []jobs.Outcome{succeeded(), failed()} {
		j := f.begin()
		f.cancel(j.ID)
		f.finish(j, o)
		if got := f.is(j.ID, o.State); got.Code != o.Code || got.Reason != o.Reason {
			f.Errorf("it ended with %q %q", got.Code, got.Reason)
		}
	}
}

func lastCompletion(f *fixture) {
	if w := f.worker(worker); !w.LastJobCompletedAt.IsZero() {
		f.Fatalf("a new worker completed a job at %v", w.LastJobCompletedAt)
	}
	j := f.begin()
	f.Shift(10 * time.Second)
	f.finish(j, succeeded())
	f.equal("the worker's last completion", f.worker(worker).LastJobCompletedAt, f.job(j.ID).FinishedAt)
}

func versionsGrow(f *fixture) {
	id := f.one(after(time.Minute))
	version := f.job(id).Version
	grows := func(what string) {
		f.Helper()
		versions, err := f.Store.Versions(f.ctx, []jobs.ID{id})
		f.must(err)
		if versions[id] <= version || f.job(id).Version != versions[id] {
			f.Errorf("%s: version %d after %d", what, versions[id], version)
		}
		version = versions[id]
	}
	f.Shift(2 * time.Minute)
	f.promote()
	version = f.job(id).Version
	j := f.start(id)
	grows("claim")
	f.beat(jobs.Pulse{Lease: leaseOf(j), Progress: &jobs.Progress{Done: 1}})
	grows("progress")
	f.finish(j, released())
	grows("release")
	f.start(id)
	grows("claim again")
	f.lose()
	grows("rescue")
	j = f.start(id)
	grows("third claim")
	f.cancel(id)
	grows("cancel asked")
	f.finish(j, cancelled())
	grows("cancelled")
	_, err := f.Store.Retry(f.ctx, id)
	f.must(err)
	grows("retry")
	f.finish(f.start(id), failed())
	grows("failed")
	other := fmt.Sprint(f.one())
	missing, err := f.Store.Versions(f.ctx, []jobs.ID{id, 424242})
	f.must(err)
	if len(missing) != 1 {
		f.Errorf("versions of a missing job, or of %s, which was not asked for: %v", other, missing)
	}
}
