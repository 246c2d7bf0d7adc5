package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/internal/testpictures"
	"github.com/spillway-media/spillway/internal/testservices"
)

const (
	burstJobs = 240
	// burstLimit is how long the queue may take to drain, and the workers to go:
	// they must have been idle for a minute, the least that can be set.
	burstLimit = 5 * time.Minute
)

// burstFile is a scheduler's file for worker processes on this machine. The
// price is there so that something is spent.
const burstFile = `{
  "mode": "hybrid", "evaluation_interval_seconds": 1, "registration_timeout_seconds": 60,
  "queues": {"images": {"baseline_workers": 1, "max_workers": 3, "cloud_enabled": true, "cloud_provider": "process"}},
  "cloud_providers": {"process": {"enabled": true, "max_instances": 4, "slots": 2, "prices": {"process": {"on_demand_cents_per_hour": 20.2}}}},
  "scaling_rules": {
    "scale_up": {"queue_depth_threshold": 10, "oldest_job_age_seconds": 300, "cooldown_seconds": 1},
    "scale_down": {"idle_minutes": 1, "queue_depth_below": 2, "cooldown_seconds": 0}
  },
  "cost_limits": {"max_hourly_spend_cents": 500, "max_daily_spend_cents": 5000, "alert_threshold_cents": 3000}
}`

// cluster is what a burst runs on: a server, and a scheduler whose machines are
// processes.
type cluster struct {
	environ []string // for commands of the shell
	data    string
	server  *server
	token   string
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	pg, redis := testservices.Postgres(t, "fsync=off"), testservices.Redis(t)
	root, folder := t.TempDir(), t.TempDir()
	put(t, root, "lake.jpg", testpictures.JPEG(testpictures.Scene(2400, 1600), 90))
	c := &cluster{data: filepath.Join(folder, "data")}
	c.environ = []string{
		"SPILLWAY_DATABASE=" + pg.NewDatabase(t), "SPILLWAY_REDIS=" + redis.URL, "SPILLWAY_SOURCE_ROOT=" + root,
		"SPILLWAY_BLOB=" + filepath.Join(folder, "blobs"), "SPILLWAY_DATA=" + c.data, "SPILLWAY_LOG_FORMAT=json",
		"SPILLWAY_RECONCILE_INTERVAL=1s", "SPILLWAY_SCHEDULER_CONFIG=" + put(t, folder, "scheduler.json", []byte(burstFile)),
	}
	c.command(t, "migrate")
	tokens := filepath.Join(folder, "tokens")
	c.token, _, _ = strings.Cut(c.command(t, "token", "burst", "--append", tokens), "\n")
	c.server = start(t, c.environ, "serve", "--listen", "127.0.0.1:0", "--api-token-file", tokens)
	return c
}

// command runs a command to its end, which must be a good one.
func (c *cluster) command(t *testing.T, args ...string) string {
	t.Helper()
	r := run(t, c.environ, args...)
	if r.code != 0 {
		t.Fatalf("spillway %v: exit code %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// enqueue asks for as many pictures over HTTP as a burst has, in one request.
func (c *cluster) enqueue(t *testing.T) {
	t.Helper()
	var specs []map[string]any
	for n := range burstJobs {
		specs = append(specs, map[string]any{
			"type": "image.derive", "input": "lake.jpg",
			"params": map[string]any{"sizes": fmt.Sprintf("%dx0,%dx0", 300+n, 900+n), "format": "webp"},
		})
	}
	body, err := json.Marshal(map[string]any{"jobs": specs})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.server.url+"/v1/jobs", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 != 2 {
		t.Fatalf("enqueue: %s", response.Status)
	}
}

// count is how many jobs of a state there are.
func (c *cluster) count(t *testing.T, state string) (n int) {
	t.Helper()
	for cursor := ""; ; {
		var page struct {
			Jobs []struct{ Attempts int }
			Next string `json:"next"`
		}
		args := []string{"jobs", "list", "--state", state, "--limit", "200", "--json"}
		if cursor != "" {
			args = append(args, "--cursor", cursor)
		}
		if err := json.Unmarshal([]byte(c.command(t, args...)), &page); err != nil {
			t.Fatal(err)
		}
		n += len(page.Jobs)
		if cursor = page.Next; cursor == "" {
			return n
		}
	}
}

// burstStatus is what of schedule status is looked at.
type burstStatus struct {
	Queues  []struct{ Depth, Running int64 }
	Workers []struct {
		ID, Status, Provider string
		Market               fleet.Market
	}
	Spend struct{ Day fleet.Money }
}

func (c *cluster) status(t *testing.T) (s burstStatus) {
	t.Helper()
	if err := json.Unmarshal([]byte(c.command(t, "schedule", "status", "--json")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// decisions are all that were recorded, the oldest first, without those to do nothing.
func (c *cluster) decisions(t *testing.T) (all []fleet.Decision) {
	t.Helper()
	var list struct{ Decisions []fleet.Decision }
	if err := json.Unmarshal([]byte(c.command(t, "schedule", "decisions", "--json", "--limit", "10000")), &list); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(list.Decisions)
	return slices.DeleteFunc(list.Decisions, func(d fleet.Decision) bool { return d.Kind == fleet.KindHold })
}

// awaitFor looks each half second until something is so.
func awaitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	for deadline := time.After(burstLimit); !so(); {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("%s did not come about within %s", what, burstLimit)
		}
	}
}

// The whole of it: a burst of pictures, for which workers appear, are used, and
// go again, and of which nothing is lost.
func TestABurstOnProcessesIsWorkedOffAndItsWorkersGo(t *testing.T) {
	c := startCluster(t)
	c.enqueue(t)
	began := time.Now()
	scheduler := startOther(t, c.environ, `"msg":"scheduling"`, "schedule")
	t.Cleanup(func() { endMachines(t, c.data) })
	awaitFor(t, "an empty queue", func() bool {
		for _, q := range c.status(t).Queues {
			if q.Depth+q.Running > 0 {
				return false
			}
		}
		return true
	})
	drained := time.Since(began)
	if n := c.count(t, "succeeded"); n != burstJobs {
		t.Errorf("%d of %d jobs have succeeded", n, burstJobs)
	}
	awaitFor(t, "the end of all workers but the VPS's", func() bool {
		left := c.status(t).Workers
		return len(left) == 1 && left[0].Market == fleet.VPS
	})
	gone := time.Since(began)
	status, decisions := c.status(t), c.decisions(t)
	showTimeline(t, decisions)
	t.Logf("summary: a burst of %d pictures was worked off after %s and its workers were gone after %s, for %s",
		burstJobs, drained.Round(time.Second), gone.Round(time.Second), status.Spend.Day)
	assertBurst(t, decisions)
	if status.Spend.Day <= 0 {
		t.Error("nothing was booked for the machines")
	}
	// The worker of the VPS outlasts its scheduler, as the machines of a cloud do.
	scheduler.signal(t, syscall.SIGTERM)
	if code := scheduler.exit(t); code != 0 {
		t.Errorf("exit code of the scheduler = %d, want 0", code)
	}
	if left := machines(t, c.data); len(left) != 1 {
		t.Errorf("processes %v are left, want one worker of the VPS", left)
	}
	c.command(t, "workers", "drain", status.Workers[0].ID)
	awaitFor(t, "the end of the drained worker", func() bool { return len(machines(t, c.data)) == 0 })
}

// showTimeline prints what was decided, with the seconds since the first.
func showTimeline(t *testing.T, all []fleet.Decision) {
	t.Helper()
	for _, d := range all {
		line := fmt.Sprintf("%4d s  %-9s %s", int(d.At.Sub(all[0].At).Seconds()), d.Kind, d.Sentence)
		if d.Outcome != "" && d.Outcome != fleet.OutcomeDone {
			line += " (" + d.Outcome + ")"
		}
		t.Log("summary: " + line)
	}
}

// assertBurst holds the decisions to the sentences, and to each other.
func assertBurst(t *testing.T, all []fleet.Decision) {
	t.Helper()
	up, down := 0, 0
	for _, d := range all {
		switch {
		case d.Kind == fleet.KindLaunch && strings.HasPrefix(d.Sentence, "Scaling up images: depth="):
			up++
		case strings.HasPrefix(d.Sentence, "Scaling down worker w-") && strings.HasSuffix(d.Sentence, ": idle for 1 minutes"):
			down++
		}
		if d.Failed {
			t.Errorf("decision %s failed: %s", d.ID, d.Outcome)
		}
	}
	if up == 0 || up > 2 || down < up {
		t.Errorf("%d workers were launched, at most 2 may be with the baseline; %d decisions end them", up, down)
	}
}

// startOther runs a role of the program that does not listen, until the end of
// the test.
func startOther(t *testing.T, environ []string, ready string, args ...string) *server {
	t.Helper()
	s := launch(t, environ, args...)
	s.wait(t, ready)
	return s
}

// machines are the processes whose command line or environment tells that they
// belong to the data folder of a test.
func machines(t *testing.T, data string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		environ, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(environ, []byte("SPILLWAY_DATA="+data+"\x00")) {
			continue
		}
		args, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err != nil || !slices.Contains(strings.Split(string(args), "\x00"), "work") {
			continue
		}
		if p, ok := readProcess(filepath.Join(filepath.Dir(file), "stat")); ok && p.state != "Z" {
			pids = append(pids, p.id)
		}
	}
	return pids
}

// endMachines leaves no process behind, whatever the test came to.
func endMachines(t *testing.T, data string) {
	t.Helper()
	for _, pid := range machines(t, data) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}
