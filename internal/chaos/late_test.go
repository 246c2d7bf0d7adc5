package chaos_test

import (
	"encoding/json"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/spillway-media/spillway/jobs"
)

// A process that was stopped for longer than its lease wakes up, believes that
// it still has the job, and goes on. Nothing that it does then counts.
func TestAStoppedWorkersLateCompletionAndLateWriteAreRefused(t *testing.T) {
	for _, b := range backEnds {
		t.Run(b.name, func(t *testing.T) {
			place := b.open(t)
			crew := newCrew(t, place, 1)
			sleeper := crew.alive[0]
			id := enqueueOne(t, place, `{"ms":1500,"fault":"deaf"}`)
			await(t, "the first worker to begin", func() bool { return look(t, place, id).State == jobs.Running })
			sleeper.signal(syscall.SIGSTOP)
			crew.hire(t)
			await(t, "another worker to finish the job", func() bool { return look(t, place, id).State == jobs.Succeeded })
			before := look(t, place, id)
			sleeper.signal(syscall.SIGCONT)
			// It leaves only when its handler has come back.
			sleeper.signal(syscall.SIGTERM)
			<-sleeper.ended
			late := sleeper.told(t)
			if late.Lost != 1 || late.Refused == 0 || late.Blocked != 1 || late.Succeeded != 0 {
				t.Errorf("the stopped worker tells %+v; want one lost lease, its fenced write refused, the one past the fence blocked, and no success", late)
			}
			after := look(t, place, id)
			if after.Version != before.Version || after.Deliveries != 2 || after.WorkerID == "" {
				t.Errorf("the job was changed from version %d to %d: %+v", before.Version, after.Version, after.Document())
			}
			if got := read(t, place, id); got != "delivery 2" {
				t.Errorf("the output is that of %q, want the second delivery's", got)
			}
			t.Logf("summary: late writes on %s: %d lease lost, %d writes refused by the fence, %d by the blob store", b.name, late.Lost, late.Refused, late.Blocked)
		})
	}
}

// A job that kills whoever runs it costs three workers and no more, and the jobs
// that died with them are done.
func TestAJobThatKillsItsWorkersIsPoisonedByTheThird(t *testing.T) {
	for _, b := range backEnds {
		t.Run(b.name, func(t *testing.T) {
			place := b.open(t)
			crew := newCrew(t, place, 1)
			deadly := enqueueOne(t, place, `{"fault":"deadly"}`)
			others := make([]jobs.ID, 50)
			for i := range others {
				others[i] = enqueueOne(t, place, `{"ms":20}`)
			}
			killed := 0
			await(t, "an end of the job", func() bool {
				killed += crew.refill(t)
				return look(t, place, deadly).State.Final()
			})
			if job := look(t, place, deadly); job.State != jobs.Failed || job.Code != jobs.CodePoisoned || job.Deliveries != 3 || job.Attempts != 0 || killed != 3 {
				t.Errorf("it killed %d workers and became %+v", killed, job.Document())
			}
			for _, id := range others {
				await(t, "the other jobs", func() bool { return look(t, place, id).State == jobs.Succeeded })
			}
		})
	}
}

func enqueueOne(t *testing.T, p *place, params string) jobs.ID {
	t.Helper()
	done, err := p.client.Enqueue(t.Context(), jobs.Spec{Type: kind, Params: json.RawMessage(params)})
	if err != nil {
		t.Fatal(err)
	}
	return done[0].Job.ID
}

func look(t *testing.T, p *place, id jobs.ID) jobs.Job {
	t.Helper()
	job, err := p.store.Job(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func read(t *testing.T, p *place, id jobs.ID) string {
	t.Helper()
	body, _, err := p.blobs.Get(t.Context(), outputs+id.String())
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// told is the tally of a hand that has left.
func (h *hand) told(t *testing.T) tally {
	t.Helper()
	text, err := os.ReadFile(h.tally)
	if err != nil {
		t.Fatalf("a worker left without a word: %v\n%s", err, h.stderr.String())
	}
	var one tally
	if err := json.Unmarshal(text, &one); err != nil {
		t.Fatal(err)
	}
	return one
}
