package cli_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/sqlite"
)

// A scheduler's file without a machine to launch, and one of a cloud. Worker
// processes are not for these tests: the program that they would start is the test.
const (
	bareFile = `{"mode": "hybrid",
  "queues": {"images": {"max_workers": 2, "cloud_enabled": true}, "ocr": {"max_workers": 0, "cloud_enabled": true}},
  "cost_limits": {"max_hourly_spend_cents": 500, "max_daily_spend_cents": 5000}}`
	cloudFile = `{"mode": "hybrid",
  "queues": {"images": {"max_workers": 2, "cloud_enabled": true}},
  "cloud_providers": {"ionos": {"enabled": true, "datacenter": "de/fra", "server_type": "ENTERPRISE", "image": "worker", "cores": 2, "ram_mb": 4096,
    "max_instances": 2, "prices": {"ENTERPRISE": {"on_demand_cents_per_hour": 9.5}}}},
  "scaling_rules": {"scale_up": {"queue_depth_threshold": 1}},
  "cost_limits": {"max_hourly_spend_cents": 500, "max_daily_spend_cents": 5000}}`
)

// schedulerFile makes one that nobody else can write.
func schedulerFile(t *testing.T, content string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "scheduler.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// tables opens the scheduler's side of a data folder's database for do.
func tables(t *testing.T, data string, do func(ctx context.Context, f *sqlite.Fleet) error) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(data, "jobs.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if err := do(t.Context(), store.Fleet()); err != nil {
		t.Fatal(err)
	}
}

// in runs a command on a data folder's database.
func in(t *testing.T, data, file string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return command(t, append(args, "--data", data, "--database", "sqlite://"+filepath.Join(data, "jobs.db"), "--scheduler-config", file)...)
}

func TestADryRunSaysWhatWouldBeLaunchedAtWhichPriceAndWritesNothing(t *testing.T) {
	data := t.TempDir()
	enqueueIn(t, data)
	file := schedulerFile(t, cloudFile)
	code, stdout, stderr := in(t, data, file, "schedule", "--once", "--dry-run")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{"launch images: Scaling up images: depth=1, oldest=", "ionos ENTERPRISE", "9.5 cents an hour", "nothing was changed"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("output does not have %q:\n%s", want, stdout)
		}
	}
	code, stdout, _ = in(t, data, file, "schedule", "decisions")
	if code != 0 || !strings.Contains(stdout, "nothing was decided") {
		t.Errorf("exit code %d, decisions:\n%s", code, stdout)
	}
}

func TestALookAtADatabaseThatIsNotThereMakesNone(t *testing.T) {
	for _, args := range [][]string{{"schedule", "--once", "--dry-run"}, {"schedule", "--once"}, {"schedule", "status"}} {
		data := t.TempDir()
		code, _, stderr := in(t, data, schedulerFile(t, "{}"), args...)
		if code != 1 || !strings.Contains(stderr, "name another place by --database or --data") {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
		if made, err := os.ReadDir(data); err != nil || len(made) > 0 {
			t.Errorf("%v: made %v, %v", args, made, err)
		}
	}
}

func TestARoundFindsTheDatabaseOfUpAsOtherCommandsDo(t *testing.T) {
	data := t.TempDir()
	enqueueIn(t, data)
	code, stdout, stderr := command(t, "schedule", "--once", "--dry-run", "--data", data, "--scheduler-config", schedulerFile(t, "{}"))
	if code != 0 || !strings.Contains(stdout, "hold images") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	code, _, stderr = command(t, "schedule", "--data", t.TempDir(), "--scheduler-config", schedulerFile(t, "{}"))
	if code != 1 || !strings.Contains(stderr, "there are no jobs in") {
		t.Errorf("the loop without a database: exit code %d, %s", code, stderr)
	}
}

func TestAStatusSaysWhenTheSchedulerReadsAnotherFile(t *testing.T) {
	data := t.TempDir()
	enqueueIn(t, data)
	acting := schedulerFile(t, bareFile)
	if code, _, stderr := in(t, data, acting, "schedule", "--once"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	const hint = "the latest round was one of mode hybrid"
	if _, stdout, _ := in(t, data, acting, "schedule", "status"); strings.Contains(stdout, hint) {
		t.Errorf("with the same file:\n%s", stdout)
	}
	if _, stdout, _ := in(t, data, schedulerFile(t, "{}"), "schedule", "status"); !strings.Contains(stdout, hint) {
		t.Errorf("with another file:\n%s", stdout)
	}
}

func TestAProviderThatTheProgramLacksIsForDryRunsOnly(t *testing.T) {
	data := t.TempDir()
	enqueueIn(t, data)
	for _, args := range [][]string{{"schedule", "--once"}, {"schedule"}, {"workers", "launch", "--queue", "images"}} {
		code, _, stderr := in(t, data, schedulerFile(t, cloudFile), args...)
		if code != 1 || !strings.Contains(stderr, "this program has no provider ionos") {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}

func TestARoundIsWrittenDownAndEachOfItsDecisionsCanBeExplained(t *testing.T) {
	data := t.TempDir()
	enqueueIn(t, data)
	file := schedulerFile(t, "{}")
	code, stdout, stderr := in(t, data, file, "schedule", "--once", "--json")
	var report struct{ Decisions []fleet.Decision }
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != 0 || len(report.Decisions) == 0 {
		t.Fatalf("exit code %d, %v, %s%s", code, err, stdout, stderr)
	}
	for _, d := range report.Decisions {
		code, stdout, stderr := in(t, data, file, "schedule", "explain", d.ID)
		if code != 0 || !strings.Contains(stdout, d.Sentence) || !strings.Contains(stdout, d.Rule) || !strings.Contains(stdout, d.Tick) {
			t.Errorf("decision %s: exit code %d, %s%s", d.ID, code, stdout, stderr)
		}
	}
	if code, _, stderr := in(t, data, file, "schedule", "explain", "none"); code != 1 || !strings.Contains(stderr, "decision none: there is none; schedule decisions lists them") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	code, stdout, _ = in(t, data, file, "schedule", "status")
	for _, want := range []string{"vps_only", "ago", "images", "there is no worker", report.Decisions[0].ID} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("status, exit code %d, does not have %q:\n%s", code, want, stdout)
		}
	}
}

func TestWhatAnOperatorAsksForIsAnsweredUnderTheSameRules(t *testing.T) {
	data := t.TempDir()
	enqueueIn(t, data)
	bare := schedulerFile(t, bareFile)
	tests := []struct {
		name string
		file string
		args []string
		code int
		want string
	}{
		{"in vps_only nothing is launched", schedulerFile(t, "{}"), []string{"launch", "--queue", "images"}, 1, "vps_only"},
		{"nor above the caps", bare, []string{"launch", "--queue", "ocr", "--count", "2"}, 1, "max_workers"},
		{"nor where no provider is enabled", bare, []string{"launch", "--queue", "images", "--spot", "--for", "2h"}, 1, "Refused to launch images"},
		{"nor for a queue that is not there", bare, []string{"launch", "--queue", "nights"}, 1, `no queue "nights"`},
		{"nor at a provider that the file does not have, which is said", bare, []string{"launch", "--queue", "images", "--provider", "process"}, 1, `the scheduler's file has no provider "process"`},
		{"a worker that is not there is not ended", bare, []string{"terminate", "w-none"}, 1, "no such worker"},
		{"nobody asks for none", bare, []string{"launch", "--queue", "images", "--count", "0"}, 2, "--count: 0 is not within 1 to 100"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, stdout, stderr := in(t, data, test.file, append([]string{"workers"}, test.args...)...)
			if code != test.code || !strings.Contains(stdout+stderr, test.want) {
				t.Errorf("exit code %d, want %d; output does not have %q:\n%s%s", code, test.code, test.want, stdout, stderr)
			}
		})
	}
	code, stdout, _ := in(t, data, bare, "schedule", "decisions", "--json", "--queue", "images", "--kind", "hold")
	if code != 0 || !strings.Contains(stdout, `"origin": "manual"`) {
		t.Errorf("exit code %d, no decision is said to be an operator's:\n%s", code, stdout)
	}
}

func TestAResetClearsTheLatchAndIsWrittenDown(t *testing.T) {
	data := t.TempDir()
	enqueueIn(t, data)
	file := schedulerFile(t, bareFile)
	if code, stdout, _ := in(t, data, file, "schedule", "reset"); code != 0 || !strings.Contains(stdout, "nothing was changed") {
		t.Errorf("without a latch: exit code %d, %s", code, stdout)
	}
	latch := fleet.Latch{At: time.Now(), Spent: fleet.Cents(4990), Limit: fleet.Cents(5000), Reason: "max_daily_spend_cents"}
	tables(t, data, func(ctx context.Context, f *sqlite.Fleet) error { return f.Trip(ctx, latch) })
	if code, stdout, _ := in(t, data, file, "schedule", "status"); code != 0 || !strings.Contains(stdout, "vps_only instead of hybrid") {
		t.Errorf("status: exit code %d, %s", code, stdout)
	}
	if code, stdout, stderr := in(t, data, schedulerFile(t, "no JSON"), "schedule", "reset"); code != 0 || !strings.Contains(stdout, "4990 cents of 5000 cents") {
		t.Errorf("reset, which needs no good file: exit code %d, %s%s", code, stdout, stderr)
	}
	if code, stdout, _ := in(t, data, file, "schedule", "decisions"); code != 0 || !strings.Contains(stdout, "An operator has reset the daily limit") {
		t.Errorf("decisions: exit code %d, %s", code, stdout)
	}
	if code, stdout, _ := in(t, data, file, "schedule", "status"); code != 0 || !strings.Contains(stdout, "hybrid\n") {
		t.Errorf("status afterwards: exit code %d, %s", code, stdout)
	}
}

func TestADrainByHandIsWrittenDown(t *testing.T) {
	data := t.TempDir()
	enqueueIn(t, data)
	workOn(t, data)
	if code, _, stderr := command(t, "workers", "drain", "w", "--data", data); code != 0 {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	code, stdout, _ := in(t, data, schedulerFile(t, "{}"), "schedule", "decisions", "--worker", "w")
	if code != 0 || !strings.Contains(stdout, "Draining worker w within 300 seconds") {
		t.Errorf("exit code %d, %s", code, stdout)
	}
}

func TestWhoseJobsMachinesWorkedForIsTold(t *testing.T) {
	data := t.TempDir()
	enqueueIn(t, data, "--tenant", "ada")
	file := schedulerFile(t, "{}")
	if code, stdout, _ := in(t, data, file, "schedule", "usage"); code != 0 || !strings.Contains(stdout, "no job ran on a machine that costs") {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(data, "jobs.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	w := fleet.Worker{ID: "w-1", Place: fleet.Place{Provider: "aws", Type: "large", Market: fleet.OnDemand}, Queues: []string{"images"}, Slots: 1, Rate: fleet.Cents(3_600_000)}
	if err := store.Fleet().Provision(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	row := jobs.WorkerRow{ID: w.ID, Hostname: "h", Provider: "aws", Market: jobs.OnDemand, Queues: w.Queues, Slots: 1, Status: jobs.WorkerActive}
	if err := store.Register(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	taken, err := store.Claim(t.Context(), jobs.Claim{WorkerID: w.ID, Queues: w.Queues, N: 1, Lease: time.Minute, Market: jobs.OnDemand, Alone: true})
	if err != nil || len(taken) != 1 {
		t.Fatalf("took %v, %v", taken, err)
	}
	var told struct{ Usage []fleet.Usage }
	code, stdout, stderr := in(t, data, file, "schedule", "usage", "--json")
	if err := json.Unmarshal([]byte(stdout), &told); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v, %s%s", code, err, stdout, stderr)
	}
	if len(told.Usage) != 1 || told.Usage[0].Tenant != "ada" || told.Usage[0].Queue != "images" || told.Usage[0].Jobs != 1 {
		t.Errorf("the usage is %+v", told.Usage)
	}
	code, stdout, _ = in(t, data, file, "schedule", "usage", "--last", "1h")
	if code != 0 || !strings.Contains(stdout, "ada") || !strings.Contains(stdout, "all") || !strings.Contains(stdout, " cents") {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	if code, _, stderr := in(t, data, file, "schedule", "usage", "--last", "0s"); code != 2 || !strings.Contains(stderr, "--last") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestAFileThatOthersCanWriteIsRefused(t *testing.T) {
	data := t.TempDir()
	enqueueIn(t, data)
	file := schedulerFile(t, "{}")
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := in(t, data, file, "schedule", "--once")
	if code != 1 || !strings.Contains(stderr, "can be written by others") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestAStatusTellsAnAlertFromWhatHasNotLastedForLongEnough(t *testing.T) {
	data := t.TempDir()
	enqueueIn(t, data)
	now := time.Now()
	tables(t, data, func(ctx context.Context, f *sqlite.Fleet) error {
		return f.Record(ctx, fleet.Record{Memory: &fleet.Memory{Alerts: map[string]fleet.Condition{
			"worker_cpu/w-1": {Since: now}, "queue_depth/ocr": {Since: now, Fired: now},
		}}})
	})
	_, stdout, _ := in(t, data, schedulerFile(t, "{}"), "schedule", "status")
	for _, want := range []string{`(?m)^not yet an alert +worker_cpu/w-1 since`, `(?m)^alert +queue_depth/ocr since`} {
		if !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("status does not match %q:\n%s", want, stdout)
		}
	}
}

func TestSlipsOnTheCommandLineOfSchedulingNameWhatIsAllowed(t *testing.T) {
	for want, args := range map[string][]string{
		`--kind: "lanch" is none of launch undrain drain`: {"schedule", "decisions", "--kind", "lanch"},
		"--queue: it is empty":                            {"workers", "launch", "--queue", ""},
	} {
		if code, _, stderr := in(t, t.TempDir(), schedulerFile(t, bareFile), args...); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}
