package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/image/webp"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/cli"
	"github.com/spillway-media/spillway/internal/testpictures"
	"github.com/spillway-media/spillway/internal/testservices"
	"github.com/spillway-media/spillway/jobs"
)

// plant is the program with jobs in this process.
type plant struct {
	cfg     app.Config
	address string
	stop    func() error
	log     *logLines
}

// logLines are the messages of a log, which is read while it is written.
type logLines struct {
	mu    sync.Mutex
	lines []string      // guarded by mu
	grown chan struct{} // guarded by mu; closed at the next line
}

func (l *logLines) read(from io.Reader) {
	for scanner := bufio.NewScanner(from); scanner.Scan(); {
		l.mu.Lock()
		l.lines = append(l.lines, scanner.Text())
		close(l.grown)
		l.grown = make(chan struct{})
		l.mu.Unlock()
	}
}

// await gives the first line with the message.
func (l *logLines) await(t *testing.T, message string) string {
	t.Helper()
	deadline := time.After(limit)
	for {
		l.mu.Lock()
		grown := l.grown
		for _, line := range l.lines {
			if strings.Contains(line, `"msg":"`+message+`"`) {
				l.mu.Unlock()
				return line
			}
		}
		l.mu.Unlock()
		select {
		case <-grown:
		case <-deadline:
			t.Fatalf("the log does not say %q:\n%s", message, l.text())
		}
	}
}

func (l *logLines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// run starts a role of the program. With ready it waits for that message.
func run(t *testing.T, role app.Role, ready string, change func(*app.Config)) *plant {
	t.Helper()
	cfg := settings.Defaults()
	cfg.Listen, cfg.Data, cfg.SourceRoot = "127.0.0.1:0", t.TempDir(), t.TempDir()
	picture := testpictures.JPEG(testpictures.Scene(1500, 1000), 90)
	if err := os.WriteFile(filepath.Join(cfg.SourceRoot, "lake.jpg"), picture, 0o600); err != nil {
		t.Fatal(err)
	}
	change(&cfg)
	if err := errors.Join(app.Check(cfg), app.CheckRole(cfg, role)); err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	log := &logLines{grown: make(chan struct{})}
	go log.read(reader)
	go func() {
		ended <- app.Run(ctx, cfg, role, app.NewLogger(cfg.Observing, writer, false))
		_ = writer.Close()
	}()
	p := &plant{cfg: cfg, log: log}
	p.stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(limit):
			return errors.New("the program does not end")
		}
	})
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Errorf("the program ended badly: %v\n%s", err, log.text())
		}
	})
	var line struct{ Address string }
	if err := json.Unmarshal([]byte(log.await(t, ready)), &line); err != nil {
		t.Fatal(err)
	}
	p.address = line.Address
	return p
}

// command runs the command line in this process.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, faults bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	code = cli.Main(ctx, args, cli.System{Stdout: &out, Stderr: &faults})
	return code, out.String(), faults.String()
}

// finished is the job of the last line.
func finished(t *testing.T, stdout string) jobs.Document {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	var job jobs.Document
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &job); err != nil {
		t.Fatalf("last line of %q: %v", stdout, err)
	}
	return job
}

// assertPictures holds what a job has made to its original, in the folder of blobs.
func assertPictures(t *testing.T, blobs string, job jobs.Document) {
	t.Helper()
	var result struct {
		Outputs []struct {
			Key, Format   string
			Width, Height int
			Bytes         int64
		}
	}
	if err := json.Unmarshal(job.Result, &result); err != nil {
		t.Fatal(err)
	}
	want := map[[2]int]bool{{300, 200}: true, {1200, 800}: true}
	for _, o := range result.Outputs {
		content, err := os.ReadFile(filepath.Join(blobs, o.Key))
		if err != nil {
			t.Error(err)
			continue
		}
		picture, err := webp.Decode(bytes.NewReader(content))
		if err != nil {
			t.Errorf("%s is no picture: %v", o.Key, err)
			continue
		}
		size := [2]int{picture.Bounds().Dx(), picture.Bounds().Dy()}
		if !want[size] || size != [2]int{o.Width, o.Height} || o.Bytes != int64(len(content)) || o.Format != "webp" {
			t.Errorf("%s is %v with %d bytes, and said to be %+v", o.Key, size, len(content), o)
		}
		delete(want, size)
	}
	if len(want) > 0 {
		t.Errorf("sizes %v were not made: %s", want, job.Result)
	}
}

func TestUpMakesWhatIsEnqueued(t *testing.T) {
	p := run(t, app.Up, "listening", func(*app.Config) {})
	p.log.await(t, "worker registered")
	if facts, err := os.Stat(p.cfg.OwnToken()); err != nil || facts.Mode().Perm() != 0o600 {
		t.Fatalf("token: %v, %v", facts, err)
	}
	token, err := os.ReadFile(p.cfg.OwnToken())
	if err != nil || len(bytes.TrimSpace(token)) < 32 || strings.Contains(p.log.text(), string(bytes.TrimSpace(token))) {
		t.Errorf("a token of %d bytes, %v; the log tells it or it is too short", len(token), err)
	}
	ways := map[string][]string{
		"over HTTP":       {"--server", "http://" + p.address, "--token-file", p.cfg.OwnToken()},
		"in the database": {"--data", p.cfg.Data},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"enqueue", "image.derive", "--input", "lake.jpg", "--sizes", "300x0,1200x0", "--format", "webp", "--wait", "--json"}, way...)
			code, stdout, stderr := command(t, args...)
			if code != 0 {
				t.Fatalf("exit code %d: %s\n%s", code, stderr, stdout)
			}
			job := finished(t, stdout)
			if job.State != jobs.Succeeded {
				t.Fatalf("job = %+v", job)
			}
			assertPictures(t, p.cfg.Blobs(), job)
		})
		t.Run(name+" a failure has its exit code", func(t *testing.T) {
			code, stdout, stderr := command(t, append([]string{"enqueue", "image.derive", "--input", "none.jpg", "--sizes", "300x0", "--wait", "--json"}, way...)...)
			if job := finished(t, stdout); code != 3 || job.State != jobs.Failed || job.Reason == "" {
				t.Errorf("exit code %d, job %+v, %s", code, job, stderr)
			}
		})
		t.Run(name+" a fault of the params is one of the command line", func(t *testing.T) {
			code, _, stderr := command(t, append([]string{"enqueue", "image.derive", "--input", "lake.jpg", "--sizes", "300q0"}, way...)...)
			if code != 2 || !strings.Contains(stderr, "sizes") {
				t.Errorf("exit code %d, %s", code, stderr)
			}
		})
	}
}

func TestUpWithoutACacheFillsNone(t *testing.T) {
	p := run(t, app.Up, "listening", func(c *app.Config) { c.CacheMemory, c.CacheDisk = 0, 0 })
	p.log.await(t, "worker registered")
	code, stdout, stderr := command(t, "enqueue", "bulk.derive", "--param", "prefix=", "--param", "into=cache", "--sizes", "30x0", "--wait", "--json", "--data", p.cfg.Data)
	if job := finished(t, stdout); code != 3 || job.State != jobs.Failed || !strings.Contains(job.Reason, "cache") {
		t.Errorf("exit code %d, job %+v, %s", code, job, stderr)
	}
}

func TestUpOpensItsApiAgainWithTheSameToken(t *testing.T) {
	data := t.TempDir()
	first := run(t, app.Up, "listening", func(c *app.Config) { c.Data = data })
	token, err := os.ReadFile(first.cfg.OwnToken())
	if err := errors.Join(err, first.stop()); err != nil {
		t.Fatal(err)
	}
	second := run(t, app.Up, "listening", func(c *app.Config) { c.Data = data })
	again, err := os.ReadFile(second.cfg.OwnToken())
	if err != nil || !bytes.Equal(token, again) {
		t.Errorf("the token has changed, %v", err)
	}
	code, _, stderr := command(t, "queues", "--server", "http://"+second.address, "--token-file", second.cfg.OwnToken())
	if code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// tokens makes a token and the file of a server that takes it.
func tokens(t *testing.T) (file, token string) {
	t.Helper()
	folder := t.TempDir()
	file, token = filepath.Join(folder, "tokens"), filepath.Join(folder, "token")
	code, stdout, stderr := command(t, "token", "test", "--append", file)
	if code != 0 {
		t.Fatal(stderr)
	}
	if err := os.WriteFile(token, []byte(stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, token
}

func TestPicturesAreServedWhateverTheDatabaseDoes(t *testing.T) {
	pg := testservices.Postgres(t, "fsync=off")
	dsn := pg.NewDatabase(t)
	if code, _, stderr := command(t, "migrate", "--database", dsn); code != 0 {
		t.Fatal(stderr)
	}
	pg.Kill()
	file, token := tokens(t)
	p := run(t, app.Serve, "listening", func(c *app.Config) { c.Database, c.APITokenFile = dsn, file })
	at := []string{"--server", "http://" + p.address, "--token-file", token}
	assertServes := func(when string) {
		t.Helper()
		for _, path := range []string{"/assets/lake.jpg?sizes=30x0", "/readyz"} {
			if status := get(t, "http://"+p.address+path); status != http.StatusOK {
				t.Errorf("%s is %d %s", path, status, when)
			}
		}
	}
	assertAway := func(when string) {
		t.Helper()
		if code, _, stderr := command(t, append([]string{"queues"}, at...)...); code != 5 || !strings.Contains(stderr, "does not answer") {
			t.Errorf("exit code %d %s: %s", code, when, stderr)
		}
	}
	assertServes("without a database")
	assertAway("without a database")
	p.log.await(t, "no job store; pictures are served, jobs wait")
	pg.Restart()
	p.log.await(t, "job store is open")
	if code, _, stderr := command(t, append([]string{"enqueue", "image.derive", "--input", "lake.jpg", "--sizes", "30x0"}, at...)...); code != 0 {
		t.Errorf("exit code %d with a database: %s", code, stderr)
	}
	pg.Kill()
	assertServes("when the database is gone")
	assertAway("when the database is gone")
	pg.Restart()
	for deadline := time.Now().Add(limit); ; {
		code, stdout, stderr := command(t, append([]string{"jobs", "list", "--json"}, at...)...)
		if code == 0 && strings.Contains(stdout, `"state": "queued"`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the job is not to be seen again: exit code %d, %s", code, stderr)
		}
	}
	if n := strings.Count(p.log.text(), "no job store; pictures are served"); n != 1 {
		t.Errorf("the log tells %d times that there is no store", n)
	}
}

func TestWorkersOnPostgresAndRedisDoWhatAServerWasAskedFor(t *testing.T) {
	pg, redis := testservices.Postgres(t, "fsync=off"), testservices.Redis(t)
	dsn := pg.NewDatabase(t)
	if code, _, stderr := command(t, "migrate", "--database", dsn); code != 0 {
		t.Fatal(stderr)
	}
	file, token := tokens(t)
	blobs := t.TempDir()
	shared := func(c *app.Config) { c.Database, c.Redis, c.Blob = dsn, redis.URL, blobs }
	serve := run(t, app.Serve, "listening", func(c *app.Config) { shared(c); c.APITokenFile = file })
	work := run(t, app.Work, "worker registered", func(c *app.Config) {
		shared(c)
		c.SourceRoot, c.WorkerID = serve.cfg.SourceRoot, "worker-1"
	})
	at := []string{"--server", "http://" + serve.address, "--token-file", token}
	code, stdout, stderr := command(t, append([]string{"enqueue", "image.derive", "--input", "lake.jpg", "--sizes", "300x0,1200x0", "--format", "webp", "--wait", "--json"}, at...)...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	job := finished(t, stdout)
	assertPictures(t, blobs, job)
	if job.WorkerID != "worker-1" {
		t.Errorf("done by %q", job.WorkerID)
	}
	if code, _, stderr := command(t, "workers", "drain", "worker-1", "--database", dsn); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	work.log.await(t, "stopped") // who is drained has nothing more to do
	if err := work.stop(); err != nil {
		t.Error(err)
	}
}

func TestAWorkerWithoutAUsableDatabaseFails(t *testing.T) {
	pg := testservices.Postgres(t, "fsync=off")
	cfg := settings.Defaults()
	cfg.Data, cfg.Database = t.TempDir(), pg.NewDatabase(t)
	err := app.Run(t.Context(), cfg, app.Work, app.NewLogger(cfg.Observing, io.Discard, false))
	if err == nil || !strings.Contains(err.Error(), "spillway migrate") {
		t.Errorf("error = %v, want one that names spillway migrate", err)
	}
}

func TestRolesSayWhatTheyNeed(t *testing.T) {
	tests := []struct {
		name   string
		role   app.Role
		change func(*app.Config)
		want   string
	}{
		{"work needs a database", app.Work, func(*app.Config) {}, "database: must be given"},
		{"who serves for others has a certificate of others", app.Serve, func(c *app.Config) { c.HTTPS = true }, "https: true is for up only"},
		{"jobs over HTTP need tokens", app.Serve, func(c *app.Config) { c.Database = "postgres://db/jobs" }, "api-token-file: must be given"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := settings.Defaults()
			test.change(&cfg)
			if err := app.CheckRole(cfg, test.role); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("fault = %v, want %q", err, test.want)
			}
		})
	}
}

func TestASecondSignalGivesJobsBack(t *testing.T) {
	hurry := make(chan struct{})
	origin, asked := slowSource(t)
	p := run(t, app.Up, "worker registered", func(c *app.Config) {
		c.Hurry, c.AllowSource, c.AllowPrivateSources = hurry, []string{strings.TrimPrefix(origin, "http://")}, true
		c.SourceHeaderTimeout, c.SourceTimeout = time.Hour, time.Hour
	})
	if code, _, stderr := command(t, "enqueue", "image.derive", "--input", origin+"/a.jpg", "--sizes", "30x0", "--data", p.cfg.Data); code != 0 {
		t.Fatal(stderr)
	}
	<-asked
	ended := make(chan error, 1)
	go func() { ended <- p.stop() }()
	p.log.await(t, "drain begins")
	close(hurry)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := command(t, "jobs", "show", "1", "--data", p.cfg.Data, "--json")
	var job jobs.Document
	if err := json.Unmarshal([]byte(stdout), &job); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v, %s", code, err, stderr)
	}
	if job.State != jobs.Queued || job.Attempts != 0 || job.Code != jobs.CodeReleased {
		t.Errorf("job = %+v, want one that is queued again and has not failed", job)
	}
}

// slowSource is an origin that never answers, and tells when it is asked.
func slowSource(t *testing.T) (url string, asked <-chan struct{}) {
	t.Helper()
	began := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return server.URL, began
}
