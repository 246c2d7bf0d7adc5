package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// The storm: jobs come in this many batches while something is killed after
// each few of them.
const (
	batches   = 60
	batchSize = 50
	between   = 150 * time.Millisecond
)

func storms() int {
	if os.Getenv("SPILLWAY_HEAVY") == "1" {
		return 10
	}
	return 1
}

func TestEveryJobEndsOnceWhateverIsKilled(t *testing.T) {
	for _, b := range backEnds {
		t.Run(b.name, func(t *testing.T) {
			place := b.open(t)
			crew := newCrew(t, place, 4)
			entered, done := weather(t, place, crew)
			finals := settle(t, place, entered)
			report := audit(t, place, finals)
			report.processes(crew.stop(t))
			depth := rest(t, place)
			t.Logf("summary: chaos on %s: %s; %s; %s", b.name, done, report, depth)
		})
	}
}

// weather enqueues and does harm at the same time, each kind in its turn, and
// gives the acknowledged jobs and what was done.
func weather(t *testing.T, p *place, crew *crew) (entered []jobs.ID, done string) {
	t.Helper()
	harm, count := p.harm(crew), map[string]int{}
	for batch := range batches * storms() {
		entered = append(entered, enqueue(t, p, batch)...)
		if batch%3 == 2 {
			next := harm[batch/3%len(harm)]
			next.do(t)
			count[next.name]++
		}
		if batch%4 == 1 {
			// What is refused here is over already, or the database is away.
			_, _ = p.client.Cancel(t.Context(), entered[len(entered)-1-rand.IntN(batchSize)], "The storm asks for it.")
		}
		pause(t, between)
	}
	return entered, list(count)
}

// enqueue insists, as a client with an idempotency key can: when the database
// was away nobody knows whether the batch was taken.
func enqueue(t *testing.T, p *place, batch int) []jobs.ID {
	t.Helper()
	specs := make([]jobs.Spec, batchSize)
	for i := range specs {
		specs[i] = spec(batch*batchSize + i)
	}
	deadline := time.Now().Add(time.Minute)
	for {
		done, err := p.client.Enqueue(t.Context(), specs...)
		if err == nil {
			ids := make([]jobs.ID, len(done))
			for i, e := range done {
				ids[i] = e.Job.ID
			}
			return ids
		}
		if !errors.Is(err, jobs.ErrUnavailable) || time.Now().After(deadline) {
			t.Fatalf("enqueue batch %d: %v", batch, err)
		}
		pause(t, 100*time.Millisecond)
	}
}

// spec is the nth job: all priorities, a few tenants, and some of each kind
// of trouble.
func spec(n int) jobs.Spec {
	s := jobs.Spec{
		Type: kind, Queue: queues[n%len(queues)], Priority: 1 + n%10, Tenant: fmt.Sprint("tenant", n%3),
		IdempotencyKey: fmt.Sprint("job", n), Params: []byte(fmt.Sprintf(`{"ms":%d}`, 2+n%30)),
	}
	switch n % 100 {
	case 17:
		s.Params = []byte(`{"ms":5,"fault":"once"}`)
	case 33:
		s.Params = []byte(`{"ms":5,"fault":"always"}`)
	case 50:
		s.Delay = 2 * time.Second
	case 71:
		s.Params = []byte(`{"ms":600}`)
	}
	return s
}

// settle waits until every job is over. How long that takes says nothing; that
// it never comes to an end is the fault.
func settle(t *testing.T, p *place, entered []jobs.ID) map[jobs.ID]jobs.Job {
	t.Helper()
	finals := map[jobs.ID]jobs.Job{}
	deadline := time.Now().Add(3 * time.Minute)
	for time.Now().Before(deadline) {
		for _, id := range entered {
			if _, over := finals[id]; over {
				continue
			}
			job, err := p.store.Job(t.Context(), id)
			if err != nil {
				t.Fatalf("job %s was acknowledged: %v", id, err)
			}
			if job.State.Final() {
				finals[id] = job
			}
		}
		if len(finals) == len(entered) {
			return finals
		}
		pause(t, 250*time.Millisecond)
	}
	open := slices.DeleteFunc(slices.Clone(entered), func(id jobs.ID) bool { _, over := finals[id]; return over })
	job, _ := p.store.Job(t.Context(), open[0])
	t.Fatalf("%d of %d jobs never ended, such as %+v", len(open), len(entered), job)
	return nil
}

// report counts what became of the jobs.
type report struct {
	jobs, attempts        int
	states                map[jobs.State]int
	ends                  map[jobs.AttemptStatus]int
	poisoned, outputs     int
	lostLeases, refused   uint64
	adopted, killed, left int
}

func (r *report) String() string {
	return fmt.Sprintf("%d jobs (%s; %d of the failed poisoned), %d attempts (%s), %d outputs; %d processes killed, %d left by themselves; %d leases lost and seen, %d late writes refused, %d outputs of earlier attempts adopted",
		r.jobs, list(named(r.states)), r.poisoned, r.attempts, list(named(r.ends)), r.outputs, r.killed, r.left, r.lostLeases, r.refused, r.adopted)
}

func list(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}

func named[K ~string](counts map[K]int) map[string]int {
	all := map[string]int{}
	for k, n := range counts {
		all[string(k)] = n
	}
	return all
}

// processes adds what those processes told that could.
func (r *report) processes(seen []tally, killed int) {
	r.killed, r.left = killed, len(seen)
	for _, s := range seen {
		r.lostLeases += s.Lost
		r.refused += s.Refused
		r.adopted += s.Adopted
	}
}

// audit holds each job to its promise: one end, by one attempt, with one output.
func audit(t *testing.T, p *place, finals map[jobs.ID]jobs.Job) *report {
	t.Helper()
	r := &report{jobs: len(finals), states: map[jobs.State]int{}, ends: map[jobs.AttemptStatus]int{}}
	if want := batches * batchSize * storms(); r.jobs != want {
		t.Errorf("%d different jobs for %d idempotency keys", r.jobs, want)
	}
	outputs := p.outputs(t)
	r.outputs = len(outputs)
	for id, job := range finals {
		r.states[job.State]++
		attempts, err := p.store.Attempts(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		r.attempts += len(attempts)
		ends := map[jobs.AttemptStatus]int{}
		for _, a := range attempts {
			ends[a.Status]++
			r.ends[a.Status]++
		}
		if fault := promise(job, ends, outputs[id]); fault != "" {
			t.Errorf("job %s: %s: %+v, attempts %+v", id, fault, job.Document(), attempts)
		}
		if job.Code == jobs.CodePoisoned {
			r.poisoned++
		}
	}
	return r
}

// promise says how a final job breaks it, if it does.
func promise(job jobs.Job, ends map[jobs.AttemptStatus]int, output string) string {
	succeeded := 0
	if job.State == jobs.Succeeded {
		succeeded = 1
	}
	switch {
	case ends[jobs.AttemptSucceeded] != succeeded:
		return "its attempts and its state disagree about success"
	case ends[jobs.AttemptRunning] > 0:
		return "it is over and an attempt still runs"
	case job.State == jobs.Succeeded && output == "":
		return "it succeeded and has no output"
	case job.State == jobs.Succeeded && strings.Contains(string(job.Params), `"always"`):
		return "it succeeded and cannot have"
	case job.State == jobs.Failed && job.Code != jobs.CodePoisoned && !strings.Contains(string(job.Params), `"always"`):
		return "it failed and nothing was wrong with it"
	case job.Code == jobs.CodePoisoned && ends[jobs.AttemptLost] < jobs.MaxLost:
		return "it was poisoned by fewer losses than that takes"
	case job.Deliveries != total(ends):
		return "deliveries and attempts differ"
	}
	return ""
}

func total(ends map[jobs.AttemptStatus]int) (n int) {
	for _, count := range ends {
		n += count
	}
	return n
}

// rest puts in jobs that nobody works on and compares the depth that the bell
// keeps with SQL's, before and after the bell lost everything.
func rest(t *testing.T, p *place) string {
	t.Helper()
	if p.depth == nil {
		return "no bell with a depth"
	}
	p.keep(t)
	await(t, "depth 0 of every queue", func() bool { return p.depth(t)[queues[0]] == 0 && p.depth(t)[queues[1]] == 0 })
	var specs []jobs.Spec
	for n := range 70 {
		specs = append(specs, jobs.Spec{Type: kind, Queue: queues[0], IdempotencyKey: fmt.Sprint("rest", n)})
	}
	specs[0].Delay = time.Hour // queued, but not ready
	if _, err := p.client.Enqueue(t.Context(), specs...); err != nil {
		t.Fatal(err)
	}
	await(t, "69 ready jobs", func() bool { return p.depth(t)[queues[0]] == 69 })
	p.forget(t)
	if n := p.depth(t)[queues[0]]; n != 0 && n != 69 {
		t.Errorf("after it was flushed the depth is %d", n)
	}
	await(t, "69 ready jobs after FLUSHALL", func() bool { return p.depth(t)[queues[0]] == 69 })
	return "LLEN 69 for 69 ready jobs, and again after FLUSHALL"
}

// await polls for what has to come to be.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); pause(t, 50*time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}

func pause(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal(context.Cause(t.Context()))
	}
}
