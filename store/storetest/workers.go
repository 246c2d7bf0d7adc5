package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

func workerRules() []rule {
	return []rule{
		{"a worker is registered with all that it says of itself", workerIsKept},
		{"a worker takes over the row that was provisioned for it", workerTakesOver},
		{"a worker that comes again is active again", workerComesAgain},
		{"a worker is told to drain, and how long it has", workerDrains},
		{"what is terminated or unknown cannot be drained", drainRefused},
		{"metrics are kept, and the latest is shown", workerMetrics},
		{"a silent worker is stale, and buried when it stays silent", workerIsBuried},
		{"a worker that left is listed on request only", workerLeaves},
	}
}

func workerIsKept(f *fixture) {
	row := jobs.WorkerRow{
		ID: "w", Hostname: "host.example", Provider: "cloud", Region: "fsn1", InstanceID: "i-1", InstanceType: "cx22",
		Market: jobs.Spot, Queues: []string{"images", "bulk"}, Slots: 6, Version: "1.2.3", CostPerHour: 12_345_678,
	}
	f.must(f.Store.Register(f.ctx, row))
	got := f.worker("w")
	if got.RegisteredAt.IsZero() || got.LastHeartbeat.IsZero() || got.Stale || got.Latest != nil {
		f.Errorf("the worker is %+v", got)
	}
	row.Status, row.RegisteredAt, row.LastHeartbeat = jobs.WorkerActive, got.RegisteredAt, got.LastHeartbeat
	f.equal("the worker", got, row)
}

func workerTakesOver(f *fixture) {
	f.register("w")
	f.Exec(f.T, fmt.Sprintf(provision, "w"))
	if w := f.worker("w"); w.Status != jobs.WorkerProvisioning {
		f.Fatalf("the worker is %s", w.Status)
	}
	f.must(f.Store.Register(f.ctx, jobs.WorkerRow{ID: "w", Hostname: "new", Provider: "cloud", Market: jobs.Spot, Queues: []string{"ocr"}, Slots: 2, Version: "2"}))
	if w := f.worker("w"); w.Status != jobs.WorkerActive || w.Hostname != "new" || w.Market != jobs.Spot || w.Slots != 2 || !slices.Equal(w.Queues, []string{"ocr"}) {
		f.Errorf("the worker is %+v", w)
	}
}

func workerComesAgain(f *fixture) {
	f.must(f.Store.Drain(f.ctx, worker, time.Minute))
	f.must(f.Store.Leave(f.ctx, worker))
	f.register(worker)
	if w := f.worker(worker); w.Status != jobs.WorkerActive || !w.TerminatedAt.IsZero() || !w.DrainDeadline.IsZero() {
		f.Errorf("the worker is %+v", w)
	}
	f.begin()
}

func workerDrains(f *fixture) {
	f.equal("what it is told", f.signals(worker), jobs.Signals{Status: jobs.WorkerActive})
	j := f.begin()
	f.must(f.Store.Drain(f.ctx, worker, 5*time.Minute))
	f.Shift(time.Minute)
	s := f.signals(worker)
	if s.Status != jobs.WorkerDraining || s.DrainIn > 4*time.Minute || s.DrainIn < 3*time.Minute {
		f.Errorf("it is told %+v", s)
	}
	f.beat(jobs.Pulse{Lease: leaseOf(j)})
	f.one()
	if n := len(f.claim(1)); n != 0 {
		f.Error("a draining worker got a job")
	}
	if w := f.worker(worker); w.Status != jobs.WorkerDraining || w.DrainDeadline.IsZero() {
		f.Errorf("the worker is %+v", w)
	}
	f.finish(j, succeeded())
	f.Shift(10 * time.Minute)
	if s := f.signals(worker); s.DrainIn > 0 {
		f.Errorf("%v are left after the time to drain", s.DrainIn)
	}
	f.must(f.Store.Undrain(f.ctx, worker))
	f.equal("what it is told", f.signals(worker), jobs.Signals{Status: jobs.WorkerActive})
	if n := len(f.claim(1)); n != 1 {
		f.Error("an undrained worker got no job")
	}
}

func drainRefused(f *fixture) {
	f.wants(f.Store.Drain(f.ctx, "nobody", time.Minute), jobs.ErrNotFound)
	f.wants(f.Store.Undrain(f.ctx, "nobody"), jobs.ErrNotFound)
	f.must(f.Store.Leave(f.ctx, worker))
	f.wants(f.Store.Drain(f.ctx, worker, time.Minute), jobs.ErrState)
	f.wants(f.Store.Undrain(f.ctx, worker), jobs.ErrState)
	if w := f.worker(worker); w.Status != jobs.WorkerTerminated {
		f.Errorf("the worker is %s", w.Status)
	}
}

func workerMetrics(f *fixture) {
	m := jobs.WorkerMetric{CPUPercent: 12.5, MemoryBytes: 3 << 30, MemoryLimit: 8 << 30, JobsRunning: 3}
	f.must(f.Store.Record(f.ctx, worker, jobs.WorkerMetric{CPUPercent: 99}))
	f.Shift(15 * time.Second)
	f.must(f.Store.Record(f.ctx, worker, m))
	f.register("other")
	got := f.worker(worker).Latest
	if got == nil || got.At.IsZero() {
		f.Fatalf("the latest metric is %+v", got)
	}
	m.At = got.At
	f.equal("the latest metric", *got, m)
	if w := f.worker("other"); w.Latest != nil {
		f.Errorf("another worker has the metric %+v", w.Latest)
	}
}

func (f *fixture) bury(after time.Duration) []string {
	f.Helper()
	buried, err := f.Store.BuryWorkers(f.ctx, after)
	f.must(err)
	return buried
}

func workerIsBuried(f *fixture) {
	f.register("silent")
	f.register("asked-for")
	f.Exec(f.T, fmt.Sprintf(provision, "asked-for"))
	f.Shift(jobs.StaleAfter + time.Second)
	f.beat()
	if w := f.worker(worker); w.Stale {
		f.Errorf("a worker that was just heard of is stale: %+v", w)
	}
	if w := f.worker("silent"); !w.Stale || w.Status != jobs.WorkerActive {
		f.Errorf("a silent worker is %+v", w)
	}
	f.equal("who is buried early", f.bury(10*time.Minute), []string(nil))
	f.Shift(9 * time.Minute)
	f.beat()
	f.equal("who is buried", f.bury(10*time.Minute), []string{"silent"})
	if w := f.worker("silent"); w.Status != jobs.WorkerTerminated || w.TerminatedAt.IsZero() || w.Stale {
		f.Errorf("a buried worker is %+v", w)
	}
	f.equal("who is buried twice", f.bury(10*time.Minute), []string(nil))
	f.equal("what a buried worker is told", f.signals("silent").Status, jobs.WorkerTerminated)
}

func workerLeaves(f *fixture) {
	f.register("left")
	f.must(f.Store.Leave(f.ctx, "left"))
	if w := f.worker("left"); w.Status != jobs.WorkerTerminated || w.TerminatedAt.IsZero() || w.CurrentJobs != 0 {
		f.Errorf("the worker is %+v", w)
	}
	list, err := f.Store.Workers(f.ctx, false)
	f.must(err)
	if len(list) != 1 || list[0].ID != worker {
		f.Errorf("the workers are %+v", list)
	}
}

func webhookRules() []rule {
	return []rule{
		{"every end of a job with a webhook puts one notice down, and nothing else does", noticeOfEnds},
		{"a notice that is taken is put off for others", noticeIsHeld},
		{"a notice that could not be sent is put off and counted", noticeAgain},
		{"a notice that was sent or given up is over", noticeIsOver},
		{"a job that is tried again and ends again is told of again", noticeOfSecondEnd},
		{"who was slow to send does not end a notice that is another by now", noticeOfAnother},
		{"two processes that ask at once get each notice once", noticeOnce},
	}
}

// due takes the notices that are due and holds them for a minute.
func (f *fixture) due() []jobs.Webhook {
	f.Helper()
	list, err := f.Store.DueWebhooks(f.ctx, 10, time.Minute)
	f.must(err)
	return list
}

func noticeOfEnds(f *fixture) {
	var want []jobs.ID
	for _, o := range []jobs.Outcome{succeeded(), failed(), cancelled()} {
		j := f.begin(hooked)
		f.finish(j, o)
		want = append(want, j.ID)
		f.finish(f.begin(), o) // it has no webhook
	}
	j := f.begin(hooked)
	f.finish(j, released())
	f.finish(f.start(j.ID), retried(time.Hour))
	f.begin(hooked)
	var got []jobs.ID
	for _, w := range f.due() {
		got = append(got, w.JobID)
		if w.URL != "https://example.com/hook?secret=1" || w.Attempts != 0 {
			f.Errorf("the notice is of %d attempts and the wrong address", w.Attempts)
		}
	}
	f.equal("notices of", sortedIDs(got), want)
}

func noticeIsHeld(f *fixture) {
	j := f.begin(hooked)
	f.finish(j, succeeded())
	if len(f.due()) != 1 || len(f.due()) != 0 {
		f.Fatal("it is not given to exactly one")
	}
	f.Shift(2 * time.Minute)
	if list := f.due(); len(list) != 1 || list[0].JobID != j.ID || list[0].Attempts != 0 {
		f.Errorf("after the hold %+v is due", list)
	}
}

func noticeAgain(f *fixture) {
	j := f.begin(hooked)
	f.finish(j, succeeded())
	for n := range 3 {
		list := f.due()
		if len(list) != 1 || list[0].Attempts != n {
			f.Fatalf("%+v is due; want one after %d attempts", list, n)
		}
		f.must(f.Store.WebhookDone(f.ctx, list[0], "status 500", 10*time.Minute))
		f.Shift(9 * time.Minute)
		if list := f.due(); len(list) != 0 {
			f.Fatalf("%+v is due too early", list)
		}
		f.Shift(2 * time.Minute)
	}
}

func noticeIsOver(f *fixture) {
	for _, failure := range []string{"", "status 410"} {
		j := f.begin(hooked)
		f.finish(j, succeeded())
		f.must(f.Store.WebhookDone(f.ctx, f.due()[0], failure, 0))
		f.Shift(24 * time.Hour)
		if list := f.due(); len(list) != 0 {
			f.Errorf("%+v is due after it was done (%q)", list, failure)
		}
	}
}

func noticeOfSecondEnd(f *fixture) {
	for _, sent := range []bool{true, false} {
		j := f.begin(hooked)
		f.finish(j, failed())
		if sent {
			f.must(f.Store.WebhookDone(f.ctx, f.due()[0], "", 0))
		}
		_, err := f.Store.Retry(f.ctx, j.ID)
		f.must(err)
		f.finish(f.start(j.ID), succeeded())
		list := f.due()
		if len(list) != 1 || list[0].JobID != j.ID || list[0].Attempts != 0 {
			f.Fatalf("%+v is due (the first was sent: %v)", list, sent)
		}
		f.must(f.Store.WebhookDone(f.ctx, list[0], "", 0))
	}
}

// A receiver that is told of a failure may ask for another try before it answers.
func noticeOfAnother(f *fixture) {
	j := f.begin(hooked)
	f.finish(j, failed())
	first := f.due()[0]
	_, err := f.Store.Retry(f.ctx, j.ID)
	f.must(err)
	f.finish(f.start(j.ID), succeeded())
	f.must(f.Store.WebhookDone(f.ctx, first, "", 0))
	if list := f.due(); len(list) != 1 {
		f.Fatalf("%d notices of the second end are due", len(list))
	}
	f.Shift(2 * time.Minute)
	second := f.due()[0] // the first hold of it is over
	f.must(f.Store.WebhookDone(f.ctx, first, "status 410", 0))
	f.must(f.Store.WebhookDone(f.ctx, second, "timeout", time.Minute))
	f.Shift(2 * time.Minute)
	if list := f.due(); len(list) != 1 || list[0].Attempts != 1 {
		f.Errorf("%+v is due", list)
	}
}

func noticeOnce(f *fixture) {
	const n = 30
	f.enqueue(many(n, hooked)...)
	for _, j := range f.claim(n) {
		f.finish(j, succeeded())
	}
	taken := make([][]jobs.Webhook, 6)
	f.atOnce(len(taken), func(i int, s jobs.Store) (err error) {
		taken[i], err = s.DueWebhooks(f.ctx, 8, time.Minute)
		return err
	})
	seen := map[jobs.ID]bool{}
	for _, list := range taken {
		for _, w := range list {
			if seen[w.JobID] {
				f.Errorf("job %s is told of twice", w.JobID)
			}
			seen[w.JobID] = true
		}
	}
}
