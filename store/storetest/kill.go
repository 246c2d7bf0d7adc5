package storetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spillway-media/spillway/jobs"
)

// victim is the worker that runs in the process that is killed.
const victim = "victim"

// Work starts jobs that it never ends, and then enqueues, claims, saves and
// finishes others until its process is killed. What it was told is done it
// writes to w, one line each, right after.
func Work(ctx context.Context, s jobs.Store, w io.Writer) error {
	if err := s.Register(ctx, jobs.WorkerRow{ID: victim, Market: jobs.VPS, Queues: []string{queue}, Slots: 3}); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	claim := jobs.Claim{WorkerID: victim, Queues: []string{queue}, N: 3, Lease: lease, Market: jobs.VPS}
	for n := 0; ; n++ {
		entered, err := s.Enqueue(ctx, many(4))
		if err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		for _, e := range entered {
			fmt.Fprintln(w, "entered", e.Job.ID)
		}
		list, err := s.Claim(ctx, claim)
		if err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		if n == 0 {
			continue // these are its to the end
		}
		for _, j := range list {
			if err := workOne(ctx, s, w, j); err != nil {
				return err
			}
		}
	}
}

func workOne(ctx context.Context, s jobs.Store, w io.Writer, j jobs.Job) error {
	if err := s.SaveCheckpoints(ctx, leaseOf(j), []jobs.Checkpoint{part("a", `1`)}); err != nil {
		return fmt.Errorf("save: %w", err)
	}
	fmt.Fprintln(w, "saved", j.ID)
	if err := s.Finish(ctx, leaseOf(j), succeeded()); err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	fmt.Fprintln(w, "ended", j.ID)
	return nil
}

// killLosesNothing kills three processes in the middle of Work, one after the
// other, and looks for all that they were told.
func killLosesNothing(f *fixture) {
	told := map[string][]jobs.ID{}
	for range 3 {
		said, kill := f.Process(f.T)
		f.listen(said, kill, told)
	}
	for _, id := range told["saved"] {
		if n := len(f.parts(id)); n != 1 {
			f.Errorf("job %s has %d parts; one was saved", id, n)
		}
	}
	for _, id := range told["ended"] {
		f.is(id, jobs.Succeeded)
	}
	f.Shift(2 * lease)
	orphans := f.expired()
	if len(orphans) < 3 {
		f.Errorf("%d jobs have lost their worker; at least one of each process has", len(orphans))
	}
	for _, j := range orphans {
		f.rescues(j, jobs.AfterLoss(&j), true)
	}
	for _, j := range f.claim(len(told["entered"]) + 100) {
		f.finish(j, succeeded())
	}
	for _, id := range told["entered"] {
		j := f.is(id, jobs.Succeeded)
		if n := len(f.attempts(id)); n != j.Deliveries {
			f.Errorf("job %s has %d attempts of %d deliveries", id, n, j.Deliveries)
		}
	}
	f.Logf("summary: three kills: %d jobs entered, %d ended before, %d orphans rescued, all ended once",
		len(told["entered"]), len(told["ended"]), len(orphans))
}

// listen notes what a process was told, and kills it while it is at work.
func (f *fixture) listen(said io.Reader, kill func(), told map[string][]jobs.ID) {
	f.Helper()
	const enough = 150
	lines := bufio.NewScanner(said)
	n := 0
	for ; lines.Scan(); n++ {
		what, number, found := strings.Cut(lines.Text(), " ")
		id, err := jobs.ParseID(number)
		if !found || err != nil {
			break // cut off by its end
		}
		told[what] = append(told[what], id)
		if n == enough {
			go kill() // it goes on while it dies; its last lines count too
		}
	}
	kill()
	if n < enough {
		f.Fatalf("the process has said %d lines and ended; the last is %q", n, lines.Text())
	}
}
