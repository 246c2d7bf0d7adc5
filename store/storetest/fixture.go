package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spillway-media/spillway/jobs"
)

// The damage that rules do, which is all that they know of tables.
const (
	loseLease = "UPDATE processing_jobs SET lease_until = NULL WHERE id = %d"
	loseToken = "UPDATE processing_jobs SET lease_token = NULL WHERE id = %d"
	provision = "UPDATE workers SET status = 'provisioning' WHERE id = '%s'"
)

const (
	queue  = "images"
	worker = "worker-1"
	lease  = time.Minute
)

// fixture is what a rule works with: its test, its Backend, and one registered
// worker. Its methods end the test when the store fails.
type fixture struct {
	*testing.T
	*Backend
	ctx context.Context //nolint:containedctx // it is the test's, and lives as long
}

func enter(t *testing.T, b *Backend) *fixture {
	f := &fixture{t, b, t.Context()}
	f.register(worker)
	return f
}

func (f *fixture) register(id string, changes ...func(*jobs.WorkerRow)) {
	f.Helper()
	row := jobs.WorkerRow{
		ID: id, Hostname: "host", Provider: "vps", Market: jobs.VPS, Queues: []string{queue}, Slots: 4, Version: "test",
	}
	for _, change := range changes {
		change(&row)
	}
	f.must(f.Store.Register(f.ctx, row))
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) wants(err, target error) {
	f.Helper()
	if !errors.Is(err, target) {
		f.Fatalf("error is %v; want %v", err, target)
	}
}

// with is an ordinary spec, changed.
func with(changes ...func(*jobs.Spec)) jobs.Spec {
	s := jobs.Spec{
		Type: "image.derive", Queue: queue, Priority: jobs.DefaultPriority, Params: json.RawMessage(`{}`),
		MaxAttempts: 5, WorkLimit: time.Hour, EstimatedSeconds: 1,
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// many is n times the same.
func many(n int, changes ...func(*jobs.Spec)) []jobs.Spec {
	specs := make([]jobs.Spec, n)
	for i := range specs {
		specs[i] = with(changes...)
	}
	return specs
}

func priority(p int) func(*jobs.Spec)        { return func(s *jobs.Spec) { s.Priority = p } }
func tenant(name string) func(*jobs.Spec)    { return func(s *jobs.Spec) { s.Tenant = name } }
func in(queue string) func(*jobs.Spec)       { return func(s *jobs.Spec) { s.Queue = queue } }
func taking(sec float64) func(*jobs.Spec)    { return func(s *jobs.Spec) { s.EstimatedSeconds = sec } }
func after(d time.Duration) func(*jobs.Spec) { return func(s *jobs.Spec) { s.Delay = d } }
func keyed(key string) func(*jobs.Spec)      { return func(s *jobs.Spec) { s.IdempotencyKey = key } }
func unique(key string) func(*jobs.Spec)     { return func(s *jobs.Spec) { s.UniqueKey = key } }
func patient(d time.Duration) func(*jobs.Spec) {
	return func(s *jobs.Spec) { s.WaitLimit = d }
}

func hooked(s *jobs.Spec) { s.Webhook = "https://example.com/hook?secret=1" }

// enqueue puts specs in by batches that a Client would make.
func (f *fixture) enqueue(specs ...jobs.Spec) []jobs.ID {
	f.Helper()
	var ids []jobs.ID
	for len(specs) > 0 {
		n := min(len(specs), jobs.MaxBatch)
		entered, err := f.Store.Enqueue(f.ctx, specs[:n])
		f.must(err)
		if len(entered) != n {
			f.Fatalf("%d of %d jobs were entered", len(entered), n)
		}
		for _, e := range entered {
			ids = append(ids, e.Job.ID)
		}
		specs = specs[n:]
	}
	return ids
}

func (f *fixture) one(changes ...func(*jobs.Spec)) jobs.ID {
	f.Helper()
	return f.enqueue(with(changes...))[0]
}

func (f *fixture) claim(n int, queues ...string) []jobs.Job {
	f.Helper()
	return f.claimBy(worker, n, queues...)
}

func (f *fixture) claimBy(workerID string, n int, queues ...string) []jobs.Job {
	f.Helper()
	if len(queues) == 0 {
		queues = []string{queue}
	}
	list, err := f.Store.Claim(f.ctx, jobs.Claim{WorkerID: workerID, Queues: queues, N: n, Lease: lease, Market: jobs.VPS, Alone: true})
	f.must(err)
	return list
}

// start claims what must be the only ready job.
func (f *fixture) start(id jobs.ID) jobs.Job {
	f.Helper()
	list := f.claim(1)
	if len(list) != 1 || list[0].ID != id {
		f.Fatalf("claimed %v; want job %s", ids(list), id)
	}
	return list[0]
}

// begin enqueues a job and starts it.
func (f *fixture) begin(changes ...func(*jobs.Spec)) jobs.Job {
	f.Helper()
	return f.start(f.one(changes...))
}

func (f *fixture) finish(j jobs.Job, o jobs.Outcome) {
	f.Helper()
	f.must(f.Store.Finish(f.ctx, leaseOf(j), o))
}

func (f *fixture) job(id jobs.ID) jobs.Job {
	f.Helper()
	j, err := f.Store.Job(f.ctx, id)
	f.must(err)
	return j
}

// is checks the state of a job and gives it.
func (f *fixture) is(id jobs.ID, state jobs.State) jobs.Job {
	f.Helper()
	j := f.job(id)
	if j.State != state {
		f.Fatalf("job %s is %s (%s %s); want %s", id, j.State, j.Code, j.Reason, state)
	}
	return j
}

// equal compares anything; times to within what databases round away.
func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(time.Millisecond), cmpopts.EquateEmpty(), sameJSON()); diff != "" {
		f.Fatalf("%s is not as it should be (-want +got):\n%s", what, diff)
	}
}

// sameJSON allows a database to write a document in its own way.
func sameJSON() cmp.Option {
	some := func(a, b json.RawMessage) bool { return len(a) > 0 && len(b) > 0 }
	return cmp.FilterValues(some, cmp.Comparer(func(a, b json.RawMessage) bool {
		var x, y any
		return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
	}))
}

// whole is all that is kept of a job.
type whole struct {
	Job      jobs.Job
	Attempts []jobs.Attempt
	Parts    []jobs.Checkpoint
}

func (f *fixture) whole(id jobs.ID) whole {
	f.Helper()
	return whole{f.job(id), f.attempts(id), f.parts(id)}
}

// unchanged runs what must change nothing of a job.
func (f *fixture) unchanged(id jobs.ID, by func()) {
	f.Helper()
	before := f.whole(id)
	by()
	f.equal(fmt.Sprintf("job %s, which nothing may change,", id), f.whole(id), before)
}

func (f *fixture) attempts(id jobs.ID) []jobs.Attempt {
	f.Helper()
	list, err := f.Store.Attempts(f.ctx, id)
	f.must(err)
	return list
}

func (f *fixture) statuses(id jobs.ID) []jobs.AttemptStatus {
	f.Helper()
	var list []jobs.AttemptStatus
	for _, a := range f.attempts(id) {
		list = append(list, a.Status)
	}
	return list
}

func (f *fixture) parts(id jobs.ID) []jobs.Checkpoint {
	f.Helper()
	list, err := f.Store.Checkpoints(f.ctx, id, "", 1000)
	f.must(err)
	return list
}

func (f *fixture) expired() []jobs.Job {
	f.Helper()
	list, err := f.Store.Expired(f.ctx, 100)
	f.must(err)
	return list
}

// lose lets the leases of running jobs run out and does what maintenance does.
func (f *fixture) lose() {
	f.Helper()
	f.Shift(2 * lease)
	for _, j := range f.expired() {
		_, err := f.Store.Rescue(f.ctx, leaseOf(j), jobs.AfterLoss(&j))
		f.must(err)
	}
}

func (f *fixture) promote() []jobs.Moved {
	f.Helper()
	moved, err := f.Store.Promote(f.ctx, 100)
	f.must(err)
	return moved
}

func (f *fixture) worker(id string) jobs.WorkerRow {
	f.Helper()
	list, err := f.Store.Workers(f.ctx, true)
	f.must(err)
	for _, w := range list {
		if w.ID == id {
			return w
		}
	}
	f.Fatalf("there is no worker %s", id)
	return jobs.WorkerRow{}
}

// now is what the database takes for the time.
func (f *fixture) now() time.Time {
	f.Helper()
	return f.job(f.one(in("clock"))).CreatedAt
}

func leaseOf(j jobs.Job) jobs.Lease { return jobs.Lease{ID: j.ID, Token: j.Token} }

func ids(list []jobs.Job) []jobs.ID {
	all := make([]jobs.ID, 0, len(list))
	for _, j := range list {
		all = append(all, j.ID)
	}
	return all
}

// The outcomes that most rules use.

func succeeded() jobs.Outcome {
	return jobs.Outcome{State: jobs.Succeeded, Attempt: jobs.AttemptSucceeded, Result: json.RawMessage(`{"done":true}`)}
}

func failed() jobs.Outcome {
	return jobs.Outcome{State: jobs.Failed, Attempt: jobs.AttemptFailed, Code: "bad-input", Reason: "It is no picture."}
}

func cancelled() jobs.Outcome {
	return jobs.Outcome{State: jobs.Cancelled, Attempt: jobs.AttemptCancelled, Code: jobs.CodeCancelled, Reason: "It was cancelled."}
}

func retried(delay time.Duration) jobs.Outcome {
	return jobs.Outcome{State: jobs.Queued, Attempt: jobs.AttemptFailed, Delay: delay, Code: "timeout", Reason: "It took too long."}
}

func released() jobs.Outcome {
	return jobs.Outcome{State: jobs.Queued, Attempt: jobs.AttemptReleased, Code: jobs.CodeReleased, Reason: "The worker drains."}
}

func lost() jobs.Outcome {
	return jobs.Outcome{State: jobs.Queued, Attempt: jobs.AttemptLost, Code: jobs.CodeLeaseLost, Reason: "The worker is gone."}
}
