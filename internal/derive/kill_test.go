package derive_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/derive"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/sqlite"
)

// workerFolder names, for a copy of this test binary, the folder that it works in.
const workerFolder = "SPILLWAY_TEST_DERIVE_WORKER"

// TestWorkerProcess is no test but the worker that others start: with the
// variable set it works until it is told to end, or is killed.
func TestWorkerProcess(t *testing.T) {
	dir := os.Getenv(workerFolder)
	if dir == "" {
		return
	}
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	defer stop()
	b := &bench{root: filepath.Join(dir, "originals")}
	b.open(t, filepath.Join(dir, "blobs"))
	store := openStore(t, dir)
	bell := jobs.NewProcessBell()
	worker, err := jobs.NewWorker(jobs.WorkerConfig{
		Row: jobs.WorkerRow{Queues: []string{"bulk"}}, Handlers: derive.Handlers(b.cfg),
		Lease: 3 * time.Second, Poll: 50 * time.Millisecond, DrainTimeout: -1,
	}, store, bell, discard())
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := jobs.NewKeeper(jobs.KeeperConfig{Rescue: 100 * time.Millisecond}, store, bell, discard())
	if err != nil {
		t.Fatal(err)
	}
	kept := make(chan error, 1)
	go func() { kept <- keeper.Run(ctx) }()
	if err := worker.Run(ctx); err != nil {
		t.Error(err)
	}
	if err := <-kept; err != nil {
		t.Error(err)
	}
	decodes := strconv.FormatInt(b.engine.runs.Load(), 10)
	if err := os.WriteFile(filepath.Join(dir, "decodes"), []byte(decodes), 0o600); err != nil {
		t.Error(err)
	}
}

func openStore(t *testing.T, dir string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "jobs.db"), discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// startWorker gives the process and what waits for its end.
func startWorker(t *testing.T, dir string) (worker *exec.Cmd, wait func() error) {
	t.Helper()
	worker = exec.Command(os.Args[0], "-test.run=^TestWorkerProcess$", "-test.count=1")
	worker.Env = append(os.Environ(), workerFolder+"="+dir)
	worker.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- worker.Wait() }()
	t.Cleanup(func() { _ = worker.Process.Kill() })
	return worker, func() error { return <-ended }
}

// rows reads the checkpoints of items: how many each delivery has saved.
func rows(t *testing.T, store jobs.Store, id jobs.ID) (all map[string]jobs.Checkpoint, byDelivery map[int]int) {
	t.Helper()
	all, byDelivery = map[string]jobs.Checkpoint{}, map[int]int{}
	page, err := store.Checkpoints(t.Context(), id, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range page {
		if row.Key[0] >= '0' && row.Key[0] <= '9' {
			all[row.Key] = row
			byDelivery[row.Number]++
		}
	}
	return all, byDelivery
}

// within asks until it is so.
func within(t *testing.T, d time.Duration, what string, so func() bool) {
	t.Helper()
	deadline := time.After(d)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !so() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("after %s still not: %s", d, what)
		}
	}
}

func TestABulkJobOutlivesTheWorkerThatIsKilledInItsMiddle(t *testing.T) {
	const n = 500
	dir := t.TempDir()
	b := &bench{root: filepath.Join(dir, "originals")}
	for name, data := range gallery(n) {
		b.write(t, name, data)
	}
	store := openStore(t, dir)
	client := jobs.NewClient(store, jobs.NewProcessBell(), derive.Kinds(media.DefaultLimits()))
	entered, err := client.Enqueue(t.Context(), jobs.Spec{Type: derive.TypeBulk, Params: json.RawMessage(`{"prefix":"in/","sizes":"40x0","format":"webp"}`)})
	if err != nil {
		t.Fatal(err)
	}
	id := entered[0].Job.ID

	first, wait := startWorker(t, dir)
	within(t, time.Minute, "a hundred items are saved", func() bool {
		saved, _ := rows(t, store, id)
		return len(saved) >= 100
	})
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = wait()
	before, _ := rows(t, store, id)
	if len(before) >= n {
		t.Fatalf("all %d were done before it was killed", n)
	}

	second, wait := startWorker(t, dir)
	var job jobs.Job
	within(t, 2*time.Minute, "the job has ended", func() bool {
		if job, err = store.Job(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		return job.State.Final()
	})
	if err := second.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := wait(); err != nil {
		t.Errorf("the second worker: %v", err)
	}

	after, byDelivery := rows(t, store, id)
	var told summary
	if err := json.Unmarshal(job.Result, &told); err != nil || job.State != jobs.Succeeded {
		t.Fatalf("%s: %s, %v", job.State, job.Reason, err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "decodes"))
	if err != nil {
		t.Fatal(err)
	}
	decodes, err := strconv.Atoi(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("summary: %d of %d rows of job_checkpoints at the kill, %d at the end, by delivery %v; the second worker decoded %d",
		len(before), n, len(after), byDelivery, decodes)
	if len(after) != n || told.Succeeded != n || told.Resumed != len(before) {
		t.Errorf("%d rows; the summary says %d, of which %d were resumed", len(after), told.Succeeded, told.Resumed)
	}
	if byDelivery[1] != len(before) || byDelivery[2] != n-len(before) || decodes != n-len(before) {
		t.Errorf("what was done was done again: %d rows of the first, %d of the second, which decoded %d", byDelivery[1], byDelivery[2], decodes)
	}
	for key, row := range before {
		if after[key].Number != 1 || after[key].WorkerID != row.WorkerID {
			t.Errorf("row %s was written again", key)
		}
	}
}
