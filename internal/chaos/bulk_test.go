package chaos_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spillway-media/spillway/jobs"
)

// pictures is how many a bulk job is for.
const pictures = 500

// The real program works on a bulk job and is killed in the middle. Another
// finishes it. That nothing is done twice is certain, because the originals of
// what was done are taken away in between.
func TestABulkJobWhoseWorkerIsKilledIsFinishedByAnotherWithoutRedoingWhatWasDone(t *testing.T) {
	place := openCluster(t)
	root := gallery(t)
	program := build(t)
	id := enqueueBulk(t, place)
	first := program.work(t, place, root)
	await(t, "a hundred pictures", func() bool { return len(saved(t, place, id)) >= 100 })
	first.signal(syscall.SIGKILL)
	<-first.ended
	before := saved(t, place, id)
	if len(before) >= pictures {
		t.Fatalf("it was killed after all %d pictures, not in the middle", pictures)
	}
	for _, part := range before {
		var done struct{ Input string }
		if err := json.Unmarshal(part.Value, &done); err != nil || done.Input == "" {
			continue // the list of inputs is saved, too
		}
		if err := os.Remove(filepath.Join(root, done.Input)); err != nil {
			t.Fatal(err)
		}
	}
	second := program.work(t, place, root)
	await(t, "an end of the job", func() bool { return look(t, place, id).State.Final() })
	second.signal(syscall.SIGTERM)
	<-second.ended
	job, after := look(t, place, id), saved(t, place, id)
	var summary struct{ Items, Succeeded, Failed, Resumed, Outputs int }
	if err := json.Unmarshal(job.Result, &summary); err != nil || job.State != jobs.Succeeded {
		t.Fatalf("the job became %+v: %v\n%s", job.Document(), err, second.stderr.String())
	}
	if summary.Items != pictures || summary.Succeeded != pictures || summary.Failed != 0 || summary.Resumed == 0 || summary.Outputs != pictures {
		t.Errorf("the summary tells %+v", summary)
	}
	if job.Deliveries != 2 || job.Attempts != 0 {
		t.Errorf("%d deliveries and %d failed attempts, want 2 and 0", job.Deliveries, job.Attempts)
	}
	rows := map[int]int{}
	for key, part := range after {
		rows[part.Number]++
		if old, done := before[key]; done && (old.Number != part.Number || !bytes.Equal(old.Value, part.Value)) {
			t.Errorf("row %s was done by delivery %d and is now %d's", key, old.Number, part.Number)
		}
	}
	t.Logf("summary: bulk.derive of %d pictures, worker killed: job_checkpoints has %d rows of delivery 1 and %d of delivery 2; %d pictures resumed, %d made after it, %d outputs",
		pictures, rows[1], rows[2], summary.Resumed, summary.Succeeded-summary.Resumed, summary.Outputs)
}

// gallery is a folder of pictures that take a while each.
func gallery(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "gallery"), 0o755); err != nil {
		t.Fatal(err)
	}
	for n := range pictures {
		m := image.NewRGBA(image.Rect(0, 0, 640, 480))
		for y := range 480 {
			for x := range 640 {
				m.SetRGBA(x, y, color.RGBA{uint8(x + n), uint8(y * n), uint8(x * y >> 6), 255})
			}
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 60}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "gallery", fmt.Sprintf("%03d.jpg", n)), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func enqueueBulk(t *testing.T, p *place) jobs.ID {
	t.Helper()
	client := jobs.NewClient(p.store, p.bell, jobs.NewKinds(jobs.Kind{Type: "bulk.derive", Queue: "bulk", Priority: jobs.BulkPriority, Checkpointable: true}))
	done, err := client.Enqueue(t.Context(), jobs.Spec{Type: "bulk.derive", Params: json.RawMessage(`{"prefix":"gallery","sizes":"320x0","format":"webp","effort":6,"concurrency":2}`)})
	if err != nil {
		t.Fatal(err)
	}
	return done[0].Job.ID
}

// saved is the job's rows of job_checkpoints by key.
func saved(t *testing.T, p *place, id jobs.ID) map[string]jobs.Checkpoint {
	t.Helper()
	rows, err := p.store.Checkpoints(t.Context(), id, "", 10*pictures)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]jobs.Checkpoint{}
	for _, row := range rows {
		all[row.Key] = row
	}
	return all
}

// program is the real one.
type program string

func build(t *testing.T) program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spillway")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/spillway").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program(path)
}

func (p program) work(t *testing.T, at *place, root string) *hand {
	t.Helper()
	h := &hand{ended: make(chan struct{})}
	h.command = exec.Command(string(p), "work", "--queues", "bulk", "--max", "2", "--lease", "5s",
		"--source-root", root, "--data", t.TempDir(), "--blob", at.folder)
	h.command.Args = append(h.command.Args, at.settings...)
	h.command.Stdout, h.command.Stderr = &h.stderr, &h.stderr
	h.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.signal(syscall.SIGKILL)
		<-h.ended
	})
	return h
}
