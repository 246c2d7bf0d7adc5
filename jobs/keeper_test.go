package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/jobs/jobstest"
)

// depths is a bell that counts as Redis would.
type depths struct {
	mu    sync.Mutex
	now   map[string]int64
	asked map[string]int64 // the latest Repair
	fail  error            // of Repair
}

func (d *depths) Ring(_ context.Context, queue string, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now[queue] += int64(n)
}

func (d *depths) Wait(context.Context, []string, time.Duration) string { return "" }

func (d *depths) Took(_ context.Context, more map[string]int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for queue, n := range more {
		d.now[queue] -= int64(n)
	}
}

func (d *depths) Repair(_ context.Context, want map[string]int64) (map[string]int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return nil, d.fail
	}
	d.asked = want
	changed := map[string]int64{}
	for queue, n := range want {
		if d.now[queue] != n {
			changed[queue] = n - d.now[queue]
		}
		d.now[queue] = n
	}
	return changed, nil
}

func (d *depths) Stats() jobs.BellStats { return jobs.BellStats{Kind: "redis", Up: true} }

func (d *depths) of(queue string) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now[queue]
}

func (d *depths) set(queue string, n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now[queue] = n
}

// house is a store in a bubble, with keepers.
type house struct {
	t     *testing.T
	store *jobstest.Store
	bell  *depths
	log   bytes.Buffer // guarded by mu, as it is read while keepers run
	mu    sync.Mutex
	claim jobs.Claim
}

func (h *house) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(p)
}

func (h *house) logged(text string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Count(h.log.String(), text)
}

// inHouse runs a test in a bubble of testing/synctest, which fails it when a
// goroutine is left.
func inHouse(t *testing.T, test func(t *testing.T, h *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, store: jobstest.NewStore(time.Now), bell: &depths{now: map[string]int64{}}}
		h.claim = jobs.Claim{WorkerID: "w1", Queues: []string{"images"}, N: 1, Lease: time.Minute, Market: jobs.VPS, Alone: true}
		if err := h.store.Register(t.Context(), jobs.WorkerRow{ID: "w1", Queues: h.claim.Queues, Slots: 1, Market: jobs.VPS}); err != nil {
			t.Fatal(err)
		}
		test(t, h)
	})
}

// keep starts a keeper; stop ends it and waits for it.
func (h *house) keep(store jobs.KeeperStore, cfg jobs.KeeperConfig) (k *jobs.Keeper, stop func()) {
	h.t.Helper()
	k, err := jobs.NewKeeper(cfg, store, h.bell, slog.New(slog.NewTextHandler(h, nil)))
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				h.t.Errorf("Run answers %v", err)
			}
		})
	}
	h.t.Cleanup(stop)
	return k, stop
}

// enqueue adds jobs as a Client completes them, without a bell.
func (h *house) enqueue(n int, change func(*jobs.Spec)) []jobs.ID {
	h.t.Helper()
	spec := jobs.Spec{Type: "image.derive", Queue: "images", Priority: 5, MaxAttempts: 5, WorkLimit: time.Hour, EstimatedSeconds: 1}
	if change != nil {
		change(&spec)
	}
	specs := make([]jobs.Spec, n)
	for i := range specs {
		specs[i] = spec
	}
	entered, err := h.store.Enqueue(h.t.Context(), specs)
	if err != nil {
		h.t.Fatal(err)
	}
	ids := make([]jobs.ID, n)
	for i, e := range entered {
		ids[i] = e.Job.ID
	}
	return ids
}

func (h *house) take(n int) []jobs.Job {
	h.t.Helper()
	c := h.claim
	c.N = n
	claimed, err := h.store.Claim(h.t.Context(), c)
	if err != nil || len(claimed) != n {
		h.t.Fatalf("claimed %d jobs, %v; want %d", len(claimed), err, n)
	}
	return claimed
}

func (h *house) job(id jobs.ID) jobs.Job {
	h.t.Helper()
	job, err := h.store.Job(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return job
}

// after lets time pass, and everything that it causes happen.
func after(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the bubble's clock, not the machine's
	synctest.Wait()
}

func elected(keepers ...*jobs.Keeper) (which []int) {
	for i, k := range keepers {
		if k.Stats().Elected {
			which = append(which, i)
		}
	}
	return which
}

func TestOneOfTwoKeepersIsElectedAndTheOtherTakesOver(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		first, stop := h.keep(h.store, jobs.KeeperConfig{})
		synctest.Wait()
		second, _ := h.keep(h.store, jobs.KeeperConfig{})
		after(time.Minute)
		if got := elected(first, second); !cmp.Equal(got, []int{0}) {
			t.Fatalf("elected are %v, want the first alone", got)
		}
		stop()
		after(7 * time.Second)
		if got := elected(first, second); !cmp.Equal(got, []int{1}) {
			t.Errorf("7 s after the first ended %v are elected, want the second", got)
		}
		h.bell.set("images", 99)
		h.enqueue(3, nil)
		after(13 * time.Second)
		if got := h.bell.of("images"); got != 3 {
			t.Errorf("the depth is %d after the hand-over, want 3", got)
		}
	})
}

func TestAKeeperThatLosesItsElectionStopsAndStandsAgain(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		k, _ := h.keep(h.store, jobs.KeeperConfig{})
		after(time.Second)
		other, err := func() (jobs.Election, error) {
			h.store.Depose("reconciler")
			return h.store.Elect(t.Context(), "reconciler")
		}()
		if err != nil || other == nil {
			t.Fatalf("another was not elected: %v, %v", other, err)
		}
		after(7 * time.Second)
		if k.Stats().Elected {
			t.Error("7 s after another was elected it still leads")
		}
		counted := h.store.Calls("Queues")
		after(time.Minute)
		if got := h.store.Calls("Queues"); got != counted {
			t.Errorf("it counted queues %d times although another leads", got-counted)
		}
		other.Release()
		after(20 * time.Second)
		if !k.Stats().Elected {
			t.Error("20 s after the other left it does not lead again")
		}
		if n := h.logged("maintenance of jobs fails"); n != 1 {
			t.Errorf("the loss was logged %d times, want once:\n%s", n, h.log.String())
		}
	})
}

func TestBug23EveryRunningJobWithoutALivingOwnerIsRescuedWithinSevenSeconds(t *testing.T) {
	for _, test := range []struct {
		name string
		edit func(*jobs.Job)
	}{
		{"its lease ran out", func(j *jobs.Job) { j.LeaseUntil = time.Now() }},
		{"it has no lease", func(j *jobs.Job) { j.LeaseUntil = time.Time{} }},
		{"it has neither lease nor token", func(j *jobs.Job) { j.LeaseUntil, j.Token = time.Time{}, "" }},
		{"it has no owner at all", func(j *jobs.Job) { j.LeaseUntil, j.Token, j.WorkerID = time.Time{}, "", "" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			inHouse(t, func(t *testing.T, h *house) {
				ids := h.enqueue(2, nil)
				h.take(2)
				k, _ := h.keep(h.store, jobs.KeeperConfig{})
				after(20 * time.Second)
				h.store.Edit(ids[0], test.edit)
				after(7 * time.Second)
				lost, alive := h.job(ids[0]), h.job(ids[1])
				if lost.State != jobs.Queued || lost.Lost != 1 || lost.Attempts != 0 || lost.Code != jobs.CodeLeaseLost {
					t.Errorf("the lost job is %s, lost %d, attempts %d, %q; want queued again without burning an attempt", lost.State, lost.Lost, lost.Attempts, lost.Code)
				}
				if alive.State != jobs.Running {
					t.Errorf("the other job is %s, want running", alive.State)
				}
				if got := h.bell.of("images"); got != 1 {
					t.Errorf("the depth is %d, want 1: the bell is rung for a rescued job", got)
				}
				if s := k.Stats(); s.Rescued != 1 || s.Poisoned != 0 {
					t.Errorf("stats say %d rescued and %d poisoned, want 1 and 0", s.Rescued, s.Poisoned)
				}
			})
		})
	}
}

func TestThreeLostLeasesInARowPoison(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		id := h.enqueue(1, nil)[0]
		k, _ := h.keep(h.store, jobs.KeeperConfig{})
		for range jobs.MaxLost {
			h.take(1)
			after(h.claim.Lease + 7*time.Second)
		}
		job := h.job(id)
		if job.State != jobs.Failed || job.Code != jobs.CodePoisoned || job.Deliveries != 3 || job.Attempts != 0 {
			t.Errorf("the job is %s (%s) after %d deliveries and %d attempts, want it poisoned after 3 and 0", job.State, job.Code, job.Deliveries, job.Attempts)
		}
		if s := k.Stats(); s.Rescued != 2 || s.Poisoned != 1 {
			t.Errorf("stats say %d rescued and %d poisoned, want 2 and 1", s.Rescued, s.Poisoned)
		}
		if n := h.logged("job poisoned"); n != 1 {
			t.Errorf("the poisoned job was logged %d times, want once", n)
		}
	})
}

func TestBug25ARescueNeverUndoesWhatItsWorkerFinishedMeanwhile(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		id := h.enqueue(1, nil)[0]
		job := h.take(1)[0]
		h.store.Before("Rescue", func(ctx context.Context) error {
			h.store.Before("Rescue", nil)
			return h.store.Finish(ctx, jobs.Lease{ID: id, Token: job.Token}, jobs.Outcome{State: jobs.Succeeded, Attempt: jobs.AttemptSucceeded})
		})
		k, _ := h.keep(h.store, jobs.KeeperConfig{})
		after(h.claim.Lease + 30*time.Second)
		if got := h.job(id); got.State != jobs.Succeeded {
			t.Errorf("the job is %s, want succeeded", got.State)
		}
		if h.bell.of("images") != 0 || k.Stats().Rescued != 0 {
			t.Errorf("depth %d, %d rescued; want nothing", h.bell.of("images"), k.Stats().Rescued)
		}
	})
}

func TestTwoKeepersRescueEachJobOnce(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		ids := h.enqueue(450, nil)
		h.take(450)
		h.store.Slow("Rescue", time.Millisecond)
		cfg := jobs.KeeperConfig{Reconcile: 10 * time.Minute} // not in the midst of it
		a, _ := h.keep(h.store, cfg)
		b, _ := h.keep(h.store, cfg)
		after(h.claim.Lease + 9*time.Second)
		for _, id := range ids {
			if job := h.job(id); job.State != jobs.Queued || job.Lost != 1 {
				t.Fatalf("job %s is %s and lost %d times, want queued and once", id, job.State, job.Lost)
			}
		}
		if sum := a.Stats().Rescued + b.Stats().Rescued; sum != 450 || h.bell.of("images") != 450 {
			t.Errorf("%d were rescued and %d tokens pushed, want 450 of each", sum, h.bell.of("images"))
		}
	})
}

func TestALostJobWhoseCancelWasAskedIsCancelled(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		id := h.enqueue(1, nil)[0]
		h.take(1)
		if _, err := h.store.Cancel(t.Context(), id, "No longer wanted."); err != nil {
			t.Fatal(err)
		}
		h.keep(h.store, jobs.KeeperConfig{Reconcile: 10 * time.Minute}) // which would hide a wrong depth
		after(h.claim.Lease + 7*time.Second)
		if job := h.job(id); job.State != jobs.Cancelled {
			t.Errorf("the job is %s, want cancelled", job.State)
		}
		if n := h.bell.of("images"); n != 0 {
			t.Errorf("the depth is %d, want 0", n)
		}
	})
}

func TestDelayedJobsAreReadyWhenTheirTimeHasCome(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.enqueue(1200, func(s *jobs.Spec) { s.Delay = time.Minute })
		k, _ := h.keep(h.store, jobs.KeeperConfig{})
		after(59 * time.Second)
		if n := h.bell.of("images"); n != 0 {
			t.Errorf("%d are ready before their time", n)
		}
		after(2500 * time.Millisecond)
		if n := h.bell.of("images"); n != 1200 || k.Stats().Promoted != 1200 {
			t.Errorf("the depth is %d and %d were promoted, want 1200 of each", n, k.Stats().Promoted)
		}
	})
}

func TestAJobThatNobodyStartsInTimeIsGivenUpWithItsToken(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		id := h.enqueue(1, func(s *jobs.Spec) { s.WaitLimit = time.Minute })[0]
		patient := h.enqueue(1, nil)[0]
		h.bell.set("images", 2)
		k, _ := h.keep(h.store, jobs.KeeperConfig{Reconcile: 10 * time.Minute})
		after(67 * time.Second)
		if job := h.job(id); job.State != jobs.Failed || job.Code != jobs.CodeWaitLimit {
			t.Errorf("the job is %s (%s), want failed by its wait limit", job.State, job.Code)
		}
		if job := h.job(patient); job.State != jobs.Queued {
			t.Errorf("the job without a limit is %s, want queued", job.State)
		}
		if n := h.bell.of("images"); n != 1 || k.Stats().GivenUp != 1 {
			t.Errorf("the depth is %d and %d were given up, want 1 and 1", n, k.Stats().GivenUp)
		}
	})
}

func TestAgeingIsOffUnlessItIsAskedFor(t *testing.T) {
	for _, test := range []struct {
		name string
		cfg  jobs.KeeperConfig
		rank int
	}{
		{"off by default", jobs.KeeperConfig{}, 8},
		{"one rank for every ten minutes", jobs.KeeperConfig{Ageing: 10 * time.Minute}, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			inHouse(t, func(t *testing.T, h *house) {
				id := h.enqueue(1, func(s *jobs.Spec) { s.Priority = jobs.BulkPriority })[0]
				h.keep(h.store, test.cfg)
				after(32 * time.Minute)
				if job := h.job(id); job.Rank != test.rank {
					t.Errorf("the rank is %d after 32 minutes, want %d", job.Rank, test.rank)
				}
			})
		})
	}
}

func TestFinishedJobsArePrunedWhenTheirTimeIsOver(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.enqueue(1000, nil)
		for _, job := range h.take(1000) {
			if err := h.store.Finish(t.Context(), jobs.Lease{ID: job.ID, Token: job.Token}, jobs.Outcome{State: jobs.Succeeded, Attempt: jobs.AttemptSucceeded}); err != nil {
				t.Fatal(err)
			}
		}
		k, _ := h.keep(h.store, jobs.KeeperConfig{Retention: jobs.Retention{Succeeded: time.Hour}})
		after(59 * time.Minute)
		if n := k.Stats().Pruned; n != 0 {
			t.Errorf("%d were pruned before their time", n)
		}
		after(3 * time.Minute)
		if n := k.Stats().Pruned; n != 1000 {
			t.Errorf("%d were pruned, want all 1000", n)
		}
	})
}

// endless has always more to prune.
type endless struct{ *jobstest.Store }

func (s endless) Prune(ctx context.Context, keep jobs.Retention, limit int) (int, error) {
	_, err := s.Store.Prune(ctx, keep, limit)
	return limit, err
}

func TestPruningRestsBetweenBatchesHoweverMuchThereIs(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.keep(endless{h.store}, jobs.KeeperConfig{})
		after(10 * time.Minute)
		if n := h.store.Calls("Prune"); n < 1000 || n > 30_000 {
			t.Errorf("in 10 minutes it pruned %d batches, want a rest of 20 ms after each", n)
		}
		if n := h.store.Calls("Queues"); n < 40 {
			t.Errorf("meanwhile queues were counted %d times, want about 60", n)
		}
	})
}

func TestWorkersSilentForTenMinutesAreBuried(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		k, _ := h.keep(h.store, jobs.KeeperConfig{})
		status := func() jobs.WorkerStatus {
			all, err := h.store.Workers(t.Context(), true)
			if err != nil || len(all) != 1 {
				t.Fatalf("workers: %v, %v", all, err)
			}
			return all[0].Status
		}
		after(9 * time.Minute)
		if got := status(); got != jobs.WorkerActive {
			t.Errorf("after 9 minutes of silence it is %s, want active", got)
		}
		after(3 * time.Minute)
		if got := status(); got != jobs.WorkerTerminated || k.Stats().Buried != 1 {
			t.Errorf("after 12 minutes it is %s and %d are buried, want terminated and 1", got, k.Stats().Buried)
		}
	})
}

func TestAFailingStoreEndsNoLoopAndIsLoggedOnce(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		k, _ := h.keep(h.store, jobs.KeeperConfig{})
		after(time.Minute)
		h.store.Fail(jobstest.Any, -1)
		after(10 * time.Minute)
		if n := h.logged("role=promote"); n != 1 {
			t.Errorf("the failure was logged %d times, want once", n)
		}
		failing := map[string]bool{}
		for _, r := range k.Stats().Roles {
			failing[r.Name] = r.Failing
			if r.Failing && (r.Failures < 30 || r.Failures > 90) {
				t.Errorf("%s tried a failing store %d times in 10 minutes, want a try each 15 s or so", r.Name, r.Failures)
			}
		}
		for _, name := range []string{"rescue", "promote", "give-up", "elect"} {
			if !failing[name] {
				t.Errorf("stats do not say that %s fails: %+v", name, k.Stats().Roles)
			}
		}
		h.store.Fail(jobstest.Any, 0)
		h.enqueue(1, nil)
		after(40 * time.Second)
		for _, r := range k.Stats().Roles {
			if r.Failing {
				t.Errorf("%s still fails", r.Name)
			}
		}
		if n := h.logged("works again"); n < 4 {
			t.Errorf("%d roles were logged to work again, want 4 at least:\n%s", n, h.log.String())
		}
		if !k.Stats().Elected || h.bell.of("images") != 1 {
			t.Errorf("elected %v, depth %d; want it elected again and a depth of 1", k.Stats().Elected, h.bell.of("images"))
		}
	})
}

func TestAStoreThatHangsInOneRoleHoldsUpNoOther(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.store.Before("Expired", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		k, stop := h.keep(h.store, jobs.KeeperConfig{})
		after(5 * time.Minute)
		for _, r := range k.Stats().Roles {
			if r.Name == "rescue" && (r.Failures < 5 || !r.Failing) {
				t.Errorf("the hanging role failed %d times, want one for each time limit", r.Failures)
			}
			if r.Name == "promote" && r.Runs < 200 {
				t.Errorf("promotion ran %d times beside it, want about 300", r.Runs)
			}
		}
		start := time.Now()
		stop()
		if took := time.Since(start); took > time.Second {
			t.Errorf("it took %v to end, want it at once", took)
		}
	})
}

func TestDepthsAreSetRightWithinTwoIntervals(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.enqueue(5, nil)
		h.enqueue(3, func(s *jobs.Spec) { s.Delay = time.Hour })
		h.enqueue(2, func(s *jobs.Spec) { s.Queue = "bulk" })
		const interval = 10 * time.Second
		h.keep(h.store, jobs.KeeperConfig{Reconcile: interval, Queues: []string{"ocr"}})
		for _, damage := range []struct {
			name string
			do   func()
		}{
			{"everything is flushed", func() { h.bell.set("images", 0); h.bell.set("bulk", 0) }},
			{"there are too many tokens", func() { h.bell.set("images", 5000); h.bell.set("bulk", 3); h.bell.set("ocr", 9) }},
			{"redis was away for long", func() {
				h.bell.mu.Lock()
				h.bell.fail = errors.New("away")
				h.bell.mu.Unlock()
				after(5 * time.Minute)
				h.bell.set("images", 0)
				h.bell.mu.Lock()
				h.bell.fail = nil
				h.bell.mu.Unlock()
			}},
		} {
			after(time.Minute)
			damage.do()
			after(2 * interval)
			want := map[string]int64{"images": 5, "bulk": 2, "ocr": 0}
			h.bell.mu.Lock()
			got := maps.Clone(h.bell.now)
			h.bell.mu.Unlock()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: depths after two intervals (-want +got):\n%s", damage.name, diff)
			}
		}
	})
}

func TestTheTokensOfAQueueThatRanEmptyGo(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		id := h.enqueue(1, nil)[0]
		h.keep(h.store, jobs.KeeperConfig{})
		after(15 * time.Second)
		if _, err := h.store.Cancel(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
		h.bell.set("images", 4)
		after(20 * time.Second)
		if n := h.bell.of("images"); n != 0 {
			t.Errorf("the depth is %d, want 0", n)
		}
		after(10 * time.Minute)
		h.bell.mu.Lock()
		defer h.bell.mu.Unlock()
		if len(h.bell.asked) != 0 {
			t.Errorf("a queue that was empty for 10 minutes is still repaired: %v", h.bell.asked)
		}
	})
}

func TestABellWithoutDepthsIsNotReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := jobstest.NewStore(time.Now)
		k, err := jobs.NewKeeper(jobs.KeeperConfig{}, store, jobs.NewProcessBell(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := k.Run(ctx); err != nil {
			t.Error(err)
		}
		if n := store.Calls("Queues"); n != 0 {
			t.Errorf("queues were counted %d times for nobody", n)
		}
	})
}

func TestKeeperConfigNamesWhatIsOutOfRange(t *testing.T) {
	cfg := jobs.KeeperConfig{Promote: -1, Rescue: time.Hour, Ageing: time.Millisecond, Retention: jobs.Retention{Failed: time.Second}}
	_, err := jobs.NewKeeper(cfg, jobstest.NewStore(time.Now), jobs.NewProcessBell(), slog.New(slog.DiscardHandler))
	for _, want := range []string{"promote interval: -1ns", "rescue interval: 1h0m0s", "ageing: 1ms", "retention of failed jobs: 1s"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("the error does not name %q:\n%v", want, err)
		}
	}
	if strings.Contains(fmt.Sprint(err), "reconcile") {
		t.Errorf("the error names what is right:\n%v", err)
	}
}
