package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/cli"
	"github.com/spillway-media/spillway/internal/jobsclient"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/sqlite"
)

// enqueueIn puts a job into the database of a data folder and gives its number.
func enqueueIn(t *testing.T, data string, args ...string) string {
	t.Helper()
	args = append([]string{"enqueue", "image.derive", "--input", "a.jpg", "--sizes", "300x0", "--data", data, "--json"}, args...)
	code, stdout, stderr := command(t, args...)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	var entered jobsclient.Entered
	if err := json.Unmarshal([]byte(stdout), &entered); err != nil {
		t.Fatal(err)
	}
	return entered.ID.String()
}

func TestJobsAreListedShownCancelledAndTriedAgain(t *testing.T) {
	data := t.TempDir()
	first := enqueueIn(t, data, "--priority", "2", "--tenant", "t", "--queue", "own")
	second := enqueueIn(t, data, "--delay", "1h", "--idempotency-key", "k")
	tests := []struct {
		name string
		args []string
		code int
		want []string // of stdout
		told string   // of stderr
	}{
		{"a list has both", []string{"jobs", "list"}, 0, []string{first + "  ", second + "  ", "image.derive", "queued"}, ""},
		{"a list is filtered", []string{"jobs", "list", "--queue", "own", "--tenant", "t", "--state", "queued", "--json"}, 0, []string{`"id": "` + first + `"`}, ""},
		{"a page says how it goes on", []string{"jobs", "--limit", "1"}, 0, []string{"more by --cursor " + second}, ""},
		{"a limit has its range", []string{"jobs", "list", "--limit", "1000"}, 2, nil, "--limit: 1000 is not within 1 to 200"},
		{"a state is one of five", []string{"jobs", "list", "--state", "odd"}, 2, nil, "must be one of queued, running"},
		{"one job is told in full", []string{"jobs", "show", first}, 0, []string{"own, priority 2", "tenant", `{"sizes":"300x0"}`, "0 of at most 5"}, ""},
		{"the number of a job is a number", []string{"jobs", "show", "x"}, 2, nil, "is not the id of a job"},
		{"a job that is not there is told", []string{"jobs", "show", "99"}, 1, nil, "job 99: not found"},
		{"queues count what waits", []string{"queues"}, 0, []string{"own", "2:1"}, ""},
		{"queues are JSON, too", []string{"queues", "--json"}, 0, []string{`"queue": "own"`, `"depth": 1`}, ""},
		{"nobody works", []string{"workers"}, 0, []string{"there is no worker"}, ""},
		{"a list of nobody is empty", []string{"workers", "--json"}, 0, []string{`"workers": []`}, ""},
		{"a worker that is not there is not drained", []string{"workers", "drain", "w"}, 1, nil, "drain worker w: not found"},
		{"a key is the first job", []string{"enqueue", "image.derive", "--input", "a.jpg", "--sizes", "300x0", "--idempotency-key", "k"}, 0, []string{"job " + second + " has this key already; it is queued"}, ""},
		{"a key of another job is refused", []string{"enqueue", "image.derive", "--input", "b.jpg", "--sizes", "300x0", "--idempotency-key", "k"}, 2, nil, "idempotency_key: job " + second},
		{"a type is one that there is", []string{"enqueue", "image.derived", "--input", "a.jpg"}, 2, nil, "there are bulk.derive, image.derive"},
		{"a param has a name", []string{"enqueue", "image.derive", "--param", "x"}, 2, nil, "write KEY=VALUE"},
		{"one of two is cancelled, and the other told", []string{"jobs", "cancel", first, "99", "--reason", "no need"}, 1, []string{"job " + first + " cancelled"}, "cancel job 99: not found"},
		{"who waits for a cancelled job is told by the exit code", []string{"jobs", "watch", first}, 4, []string{"job " + first + " cancelled: no need"}, ""},
		{"and by JSON", []string{"jobs", "watch", first, "--json"}, 4, []string{`"state":"cancelled"`}, ""},
		{"it is tried again", []string{"jobs", "retry", first, "--json"}, 0, []string{`"state":"queued"`}, ""},
		{"what is queued is not tried again", []string{"jobs", "retry", first}, 1, nil, "it is queued: state does not allow it"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, stdout, stderr := command(t, append(test.args, "--data", data)...)
			if code != test.code || !strings.Contains(stderr, test.told) {
				t.Errorf("exit code %d, want %d; told %q, want %q", code, test.code, stderr, test.told)
			}
			for _, want := range test.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("output does not have %q:\n%s", want, stdout)
				}
			}
		})
	}
}

// workOn is a worker of the queue images that does one job of a data folder.
func workOn(t *testing.T, data string) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(data, "jobs.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	row := jobs.WorkerRow{ID: "w", Hostname: "h", Provider: "vps", Market: jobs.VPS, Queues: []string{"images"}, Slots: 1, Status: jobs.WorkerActive}
	if err := store.Register(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	taken, err := store.Claim(t.Context(), jobs.Claim{WorkerID: "w", Queues: row.Queues, N: 1, Lease: time.Minute, Market: jobs.VPS, Alone: true})
	if err != nil || len(taken) != 1 {
		t.Fatalf("took %v, %v", taken, err)
	}
	made := jobs.Outcome{State: jobs.Succeeded, Attempt: jobs.AttemptSucceeded, Result: json.RawMessage(`{"outputs":[{"key":"jobs/1/a.webp"}]}`)}
	if err := store.Finish(t.Context(), jobs.Lease{ID: taken[0].ID, Token: taken[0].Token}, made); err != nil {
		t.Fatal(err)
	}
}

func TestWhoAsksForAJobLearnsWhetherAnybodyIsThereToDoIt(t *testing.T) {
	data := t.TempDir()
	ask := func(args ...string) string {
		args = append([]string{"enqueue", "image.derive", "--input", "a.jpg", "--data", data}, args...)
		code, _, stderr := command(t, args...)
		if code != 0 {
			t.Errorf("exit code %d, %s", code, stderr)
		}
		return stderr
	}
	if told := ask(); !strings.Contains(told, "jobs.db") || !strings.Contains(told, "serves the queue images now") {
		t.Errorf("without a worker told %q", told)
	}
	workOn(t, data)
	if told := ask(); told != "" {
		t.Errorf("with a worker told %q", told)
	}
	if told := ask("--queue", "own"); !strings.Contains(told, "serves the queue own now") {
		t.Errorf("with a worker of other queues told %q", told)
	}
}

// impatient stops what it is told of.
type impatient struct {
	bytes.Buffer
	stop context.CancelCauseFunc
}

// Write notes what is told and sends the signal.
func (i *impatient) Write(text []byte) (int, error) {
	i.stop(cli.InterruptedError{Signal: syscall.SIGINT})
	return i.Buffer.Write(text)
}

func TestWhoStopsWaitingIsToldOnceThatTheJobGoesOn(t *testing.T) {
	data := t.TempDir()
	id := enqueueIn(t, data)
	ctx, stop := context.WithCancelCause(t.Context())
	told := &impatient{stop: stop}
	code := cli.Main(ctx, []string{"jobs", "watch", id, "--data", data}, cli.System{Stdout: &bytes.Buffer{}, Stderr: told})
	want := "job " + id + " queued\nspillway: job " + id + " goes on; watch it again by: spillway jobs watch " + id + "\n"
	if code != 130 || told.String() != want {
		t.Errorf("exit code %d, told %q, want %q", code, told.String(), want)
	}
}

func TestWhereOutputsLieIsTold(t *testing.T) {
	data := t.TempDir()
	id := enqueueIn(t, data)
	workOn(t, data)
	database := "sqlite://" + filepath.Join(data, "jobs.db")
	tests := []struct {
		name, want string
		args       []string
	}{
		{"in the folder of data", "they lie in " + filepath.Join(data, "blobs") + "\n", []string{"--data", data}},
		{"in a bucket", "they lie in s3://b/p\n", []string{"--data", data, "--blob", "s3://b/p"}},
		{"and not where it would be a guess", "jobs/1/a.webp", []string{"--database", database}},
	}
	for _, test := range tests {
		for _, verb := range []string{"show", "watch"} {
			t.Run(verb+" "+test.name, func(t *testing.T) {
				code, stdout, stderr := command(t, append([]string{"jobs", verb, id}, test.args...)...)
				if code != 0 || !strings.Contains(stdout, test.want) || strings.Contains(stdout, "they lie in") != strings.Contains(test.want, "they lie in") {
					t.Errorf("exit code %d, %q, want %q; %s", code, stdout, test.want, stderr)
				}
			})
		}
	}
}

func TestAFolderWithoutJobsIsNoEmptyList(t *testing.T) {
	data := t.TempDir()
	for _, args := range [][]string{{"jobs", "list"}, {"jobs", "cancel", "1"}, {"queues"}, {"workers"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			code, _, stderr := command(t, append(args, "--data", data)...)
			if code != 1 || !strings.Contains(stderr, "there are no jobs in") {
				t.Errorf("exit code %d, %s", code, stderr)
			}
		})
	}
	if left, err := os.ReadDir(data); err != nil || len(left) > 0 {
		t.Errorf("a question made %v, %v", left, err)
	}
}

func TestWhereJobsAreAskedFor(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code int
		told string
	}{
		{"a server has an address", []string{"--server", "nowhere"}, 2, "--server: it is no address"},
		{"a server that is away has an exit code", []string{"--server", "http://127.0.0.1:1"}, 5, "127.0.0.1:1 does not answer"},
		{"and it is said what to look at", []string{"--server", "http://127.0.0.1:1"}, 5, "does the server run, and is this its port?"},
		{"a token is for a server", []string{"--token-file", empty}, 2, "give --server, too"},
		{"a file of no token is told", []string{"--server", "http://127.0.0.1:1", "--token-file", empty}, 2, "is no token"},
		{"a file that is not there is told", []string{"--server", "http://127.0.0.1:1", "--token-file", empty + "?"}, 2, "cannot be read"},
		{"a database is of a known kind", []string{"--database", "mysql://me:hunter2@h/d"}, 2, "database: its value"},
		{"a database that is away has an exit code", []string{"--database", "postgres://me:hunter2@127.0.0.1:1/d"}, 5, "open database of jobs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, _, stderr := command(t, append([]string{"queues"}, test.args...)...)
			if code != test.code || !strings.Contains(stderr, test.told) || strings.Contains(stderr, "hunter2") {
				t.Errorf("exit code %d, want %d; told %q, want %q", code, test.code, stderr, test.told)
			}
		})
	}
}

func TestConfigCheckShowsNoPassword(t *testing.T) {
	for _, form := range [][]string{nil, {"--json"}} {
		t.Run(strings.Join(form, ""), func(t *testing.T) {
			var out, faults bytes.Buffer
			environ := []string{
				"SPILLWAY_DATABASE=postgres://me:hunter2@db/jobs", "SPILLWAY_REDIS=redis://:hunter2@cache/0",
				"SPILLWAY_WEBHOOK_KEY=hunter2hunter2hunter2", "SPILLWAY_API_TOKEN=hunter2", "SPILLWAY_CONFIG=" + os.DevNull,
			}
			code := cli.Main(t.Context(), append([]string{"config", "check"}, form...), cli.System{Stdout: &out, Stderr: &faults, Environ: environ})
			text := out.String() + faults.String()
			if code != 0 || strings.Contains(text, "hunter2") || !strings.Contains(text, "postgres://me:xxxxx@db/jobs") {
				t.Errorf("exit code %d: %s", code, text)
			}
		})
	}
}

func TestATokenIsPrintedOnceAndItsLineKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	code, stdout, stderr := command(t, "token", "ci", "--read-only", "--append", file)
	token, line, _ := strings.Cut(strings.TrimSpace(stdout), "\n")
	if code != 0 || !strings.HasPrefix(token, "spillway_") || !strings.HasPrefix(line, "ci sha256:") || !strings.HasSuffix(line, " read") {
		t.Fatalf("exit code %d, %q, %s", code, stdout, stderr)
	}
	kept, err := os.ReadFile(file)
	if err != nil || string(kept) != line+"\n" {
		t.Errorf("kept %q, %v", kept, err)
	}
	if code, _, stderr := command(t, "token", "two words"); code != 2 || !strings.Contains(stderr, "token name") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestMigrateOfAFileMakesIt(t *testing.T) {
	data := t.TempDir()
	code, first, stderr := command(t, "migrate", "--data", data)
	version, made := strings.CutPrefix(first, "the database went from version 0 to ")
	if code != 0 || stderr != "" || !made {
		t.Fatalf("exit code %d, %q, %s", code, first, stderr)
	}
	want := "the database has version " + strings.TrimSpace(version) + " already\n"
	if code, again, stderr := command(t, "migrate", "--data", data); code != 0 || again != want {
		t.Errorf("exit code %d, %q, want %q, %s", code, again, want, stderr)
	}
	if code, stdout, _ := command(t, "jobs", "list", "--data", data, "--json"); code != 0 || !strings.Contains(stdout, `"jobs": []`) {
		t.Errorf("exit code %d, %s", code, stdout)
	}
}

// signalled sends this process signals until they lead to something.
func signalled(t *testing.T, done <-chan struct{}) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
			return
		case <-again.C:
		}
	}
}

func TestTheSecondSignal(t *testing.T) {
	t.Run("ends the process at once", func(t *testing.T) {
		exited := make(chan struct{})
		ctx, stop := cli.WithSignals(t.Context(), cli.NewHurry(), func(int) { close(exited) })
		defer stop()
		signalled(t, ctx.Done())
		signalled(t, exited)
	})
	t.Run("is told to who has taken it, and the third ends the process", func(t *testing.T) {
		exited, code := make(chan struct{}), 0
		hurry := cli.NewHurry()
		ctx, stop := cli.WithSignals(context.Background(), hurry, func(c int) { code = c; close(exited) })
		defer stop()
		asked := hurry.Take()
		signalled(t, ctx.Done())
		signalled(t, asked)
		signalled(t, exited)
		if code != 128+int(syscall.SIGTERM) {
			t.Errorf("exit code %d", code)
		}
	})
}
