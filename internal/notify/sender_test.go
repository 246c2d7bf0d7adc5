package notify_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/notify"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/jobs/jobstest"
)

var key = []byte("a key of some length")

// call is a notice as a server got it.
type call struct {
	path, event, delivery, signature, authorization string
	body                                            []byte
}

// hookServer is somebody's webhook, which answers what the test wants.
type hookServer struct {
	*httptest.Server
	calls chan call

	mu     sync.Mutex
	answer func(http.ResponseWriter, *http.Request) // guarded by mu; nil is 204
}

func newHookServer(t *testing.T) *hookServer {
	t.Helper()
	h := &hookServer{calls: make(chan call, 100)}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read body: %v", err)
		}
		h.calls <- call{r.URL.RequestURI(), r.Header.Get("Spillway-Event"), r.Header.Get("Spillway-Delivery"), r.Header.Get("Spillway-Signature"), r.Header.Get("Authorization"), body}
		h.mu.Lock()
		answer := h.answer
		h.mu.Unlock()
		if answer == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hookServer) answers(f func(http.ResponseWriter, *http.Request)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = f
}

func status(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// clock is the database's, which a test moves on.
type clock struct {
	mu sync.Mutex
	at time.Time // guarded by mu
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.at }

func (c *clock) add(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.at = c.at.Add(d) }

// outbox is a store that tells what became of each notice.
type outbox struct {
	*jobstest.Store
	clock  *clock
	done   chan done
	logged *lockedBuffer
}

type done struct {
	failure string
	again   time.Duration
}

func (o outbox) WebhookDone(ctx context.Context, w jobs.Webhook, failure string, again time.Duration) error {
	err := o.Store.WebhookDone(ctx, w, failure, again)
	o.done <- done{failure, again}
	return err
}

// lockedBuffer takes log lines from any goroutine.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// start runs a sender until the test ends.
func start(t *testing.T, change func(*notify.Config)) (outbox, *notify.Sender) {
	t.Helper()
	at := &clock{at: time.Now()}
	o := outbox{jobstest.NewStore(at.now), at, make(chan done, 100), &lockedBuffer{}}
	config := notify.Config{Key: key, AllowPrivate: true, Every: time.Millisecond}
	if change != nil {
		change(&config)
	}
	sender, err := notify.New(config, o, slog.New(slog.NewTextHandler(o.logged, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- sender.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return o, sender
}

// end enqueues a job with a webhook and ends it.
func (o outbox) end(t *testing.T, url string, outcome jobs.Outcome) jobs.Job {
	t.Helper()
	entered, err := o.Enqueue(t.Context(), []jobs.Spec{{Type: "echo", Queue: "q", Priority: 5, MaxAttempts: 1, Params: json.RawMessage(`{}`), Webhook: url}})
	if err != nil {
		t.Fatal(err)
	}
	o.finish(t, outcome)
	job, err := o.Job(t.Context(), entered[0].Job.ID)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func (o outbox) finish(t *testing.T, outcome jobs.Outcome) {
	t.Helper()
	if err := o.Register(t.Context(), jobs.WorkerRow{ID: "w"}); err != nil {
		t.Fatal(err)
	}
	got, err := o.Claim(t.Context(), jobs.Claim{WorkerID: "w", Queues: []string{"q"}, N: 1, Lease: time.Minute})
	if err != nil || len(got) != 1 {
		t.Fatalf("claim: %d, %v", len(got), err)
	}
	if err := o.Finish(t.Context(), jobs.Lease{ID: got[0].ID, Token: got[0].Token}, outcome); err != nil {
		t.Fatal(err)
	}
}

var (
	well = jobs.Outcome{State: jobs.Succeeded, Attempt: jobs.AttemptSucceeded, Result: json.RawMessage(`{"outputs":[]}`)}
	ill  = jobs.Outcome{State: jobs.Failed, Attempt: jobs.AttemptFailed, Code: "broken", Reason: "It is broken."}
)

func TestANoticeTellsOfTheJobAndIsSigned(t *testing.T) {
	for name, outcome := range map[string]jobs.Outcome{"job.succeeded": well, "job.failed": ill} {
		t.Run(name, func(t *testing.T) {
			h := newHookServer(t)
			o, sender := start(t, nil)
			job := o.end(t, h.URL+"/hook?id=7", outcome)
			got := <-h.calls
			want, err := json.Marshal(job.Document())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got.body)); diff != "" {
				t.Error(diff)
			}
			if got.path != "/hook?id=7" || got.event != name || !strings.HasPrefix(got.delivery, "1-") {
				t.Errorf("got %s %s %s", got.path, got.event, got.delivery)
			}
			if err := notify.Verify(key, got.body, got.signature, time.Now(), 5*time.Minute); err != nil {
				t.Error(err)
			}
			if d := <-o.done; d != (done{}) {
				t.Errorf("it ends with %+v", d)
			}
			o.clock.add(48 * time.Hour)
			o.end(t, h.URL+"/next", outcome)
			if again := <-h.calls; again.path != "/next" {
				t.Error("what was sent is sent again")
			}
			<-o.done
			if got := sender.Stats(); got.Sent == 0 || got.Failed+got.GivenUp != 0 {
				t.Errorf("stats are %+v", got)
			}
		})
	}
	t.Run("without a key it is not signed", func(t *testing.T) {
		h := newHookServer(t)
		o, _ := start(t, func(c *notify.Config) { c.Key = nil })
		o.end(t, h.URL, well)
		if got := <-h.calls; got.signature != "" {
			t.Errorf("the signature is %q", got.signature)
		}
	})
	t.Run("a user in the address signs in", func(t *testing.T) {
		h := newHookServer(t)
		o, _ := start(t, nil)
		o.end(t, strings.Replace(h.URL, "://", "://u:p@", 1), well)
		if got := <-h.calls; got.authorization != "Basic dTpw" {
			t.Errorf("Authorization is %q", got.authorization)
		}
	})
}

func TestANoticeIsTriedUntilItIsHeard(t *testing.T) {
	h := newHookServer(t)
	h.answers(status(http.StatusInternalServerError))
	o, sender := start(t, nil)
	o.end(t, h.URL, well)
	first := <-h.calls
	wait := 30 * time.Second
	for try := 1; try <= 9; try++ {
		d := <-o.done
		if d.failure != "answered with status 500" || d.again < wait*8/10 || d.again > wait*12/10 {
			t.Fatalf("after try %d it is %+v, about %s was wanted", try, d, wait)
		}
		wait = min(wait*3, 6*time.Hour)
		if try == 4 {
			h.answers(status(http.StatusOK))
		}
		o.clock.add(d.again)
		if again := <-h.calls; again.delivery != first.delivery || !bytes.Equal(again.body, first.body) {
			t.Errorf("try %d is another notice: %s and %s", try, first.delivery, again.delivery)
		}
		if try == 4 {
			break
		}
	}
	if d := <-o.done; d != (done{}) {
		t.Errorf("heard, it ends with %+v", d)
	}
	for sender.Stats().Sent == 0 {
		<-time.After(time.Millisecond)
	}
	if s := sender.Stats(); s.Sent != 1 || s.Failed != 4 {
		t.Errorf("stats are %+v", s)
	}
}

func TestANoticeIsGivenUp(t *testing.T) {
	cases := map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		tries  int
		again  time.Duration
		says   string
	}{
		"at once when its place is gone for good": {status(http.StatusGone), 1, 0, "answered with status 410"},
		"after ten tries":                         {status(http.StatusNotFound), 10, 0, "answered with status 404"},
		"and a redirect is no answer":             {redirect("http://127.0.0.1:1/elsewhere"), 10, 0, "answered with status 302"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHookServer(t)
			h.answers(c.answer)
			o, _ := start(t, nil)
			o.end(t, h.URL+"/hunter2?k=hunter2", well)
			for try := 1; ; try++ {
				<-h.calls
				d := <-o.done
				if d.failure != c.says || (d.again == 0) != (try == c.tries) {
					t.Fatalf("after try %d it is %+v", try, d)
				}
				if d.again == 0 {
					break
				}
				o.clock.add(d.again)
			}
			o.clock.add(48 * time.Hour)
			o.end(t, h.URL+"/next", well)
			if got := <-h.calls; got.path != "/next" {
				t.Errorf("%s is called again", got.path)
			}
			if strings.Contains(o.logged.String(), "hunter2") {
				t.Error("the address is in the log")
			}
		})
	}
}

func redirect(to string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func TestAServerSaysWhenToComeBack(t *testing.T) {
	h := newHookServer(t)
	h.answers(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	o, _ := start(t, nil)
	o.end(t, h.URL, well)
	if d := <-o.done; d.again != time.Hour {
		t.Errorf("it is tried again after %s", d.again)
	}
}

// Whatever goes wrong, neither rows nor the log repeat the address, even when
// the server does.
func TestFailuresTellNoSecrets(t *testing.T) {
	echo := listen(t, func(c net.Conn) {
		buffer := make([]byte, 4096)
		n, _ := c.Read(buffer)
		c.Write(buffer[:n])
	})
	silent := listen(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	// After the whole request: a connection that is closed sooner is told of in
	// other words when the client had not begun to write.
	closing := listen(t, func(c net.Conn) {
		if request, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			io.Copy(io.Discard, request.Body)
		}
	})
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(secure.Close)
	cases := map[string]struct {
		at      string
		private bool
		says    string
	}{
		"one that sends the request back": {"http://" + echo, true, "no answer that could be read"},
		"one that says nothing":           {"http://" + silent, true, "no answer in time"},
		"one that hangs up":               {"http://" + closing, true, "no answer: the connection was closed"},
		"nobody there":                    {"http://127.0.0.1:1", true, "no answer: connection refused"},
		"a certificate of nobody":         {secure.URL, true, "no answer: the certificate is not trusted"},
		"a private network":               {"http://" + echo, false, "the address is not public"},
		"the machines' own metadata":      {"http://169.254.169.254", false, "the address is not public"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o, _ := start(t, func(n *notify.Config) {
				n.AllowPrivate = c.private
				if c.at == "http://"+silent {
					n.Timeout = 100 * time.Millisecond // the only one that is waited out
				}
			})
			o.end(t, c.at+"/hunter2?token=hunter2", well)
			d := <-o.done
			if d.failure != c.says || d.again == 0 {
				t.Errorf("got %+v, want %q", d, c.says)
			}
			if strings.Contains(d.failure+o.logged.String(), "hunter2") {
				t.Errorf("the address is told: %s", o.logged.String())
			}
		})
	}
}

func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { defer c.Close(); serve(c) })
		}
	})
	t.Cleanup(func() { listener.Close(); serving.Wait() })
	return listener.Addr().String()
}

// A job that is tried again is not told of until it is over again; then it is
// another notice.
func TestAJobThatIsTriedAgain(t *testing.T) {
	h := newHookServer(t)
	h.answers(status(http.StatusInternalServerError))
	o, _ := start(t, nil)
	o.end(t, h.URL, ill)
	first := <-h.calls
	d := <-o.done
	if _, err := o.Retry(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	o.clock.add(d.again)
	h.answers(nil)
	o.finish(t, well)
	second := <-h.calls
	if second.event != "job.succeeded" || second.delivery == first.delivery {
		t.Errorf("got %s %s after %s", second.event, second.delivery, first.delivery)
	}
}

// Many notices are sent some at a time, and each once.
func TestManyNotices(t *testing.T) {
	h := newHookServer(t)
	var mu sync.Mutex
	now, most := 0, 0
	h.answers(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		<-time.After(time.Millisecond)
		mu.Lock()
		now--
		mu.Unlock()
		w.WriteHeader(http.StatusOK)
	})
	o, _ := start(t, func(c *notify.Config) { c.Concurrency = 3 })
	seen := map[string]int{}
	for i := range 30 {
		o.end(t, fmt.Sprintf("%s/%d", h.URL, i), well)
	}
	for range 30 {
		seen[(<-h.calls).path]++
		<-o.done
	}
	if len(seen) != 30 {
		t.Errorf("%d of 30 were told: %v", len(seen), seen)
	}
	mu.Lock()
	defer mu.Unlock()
	if most > 3 {
		t.Errorf("%d requests were made at a time", most)
	}
}

// A receiver that takes all of a request's time for nothing is soon left alone,
// so that those behind it are told.
func TestOneSilentReceiverDoesNotHoldUpTheOthers(t *testing.T) {
	hung := newHookServer(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	hung.answers(func(http.ResponseWriter, *http.Request) { <-release })
	good := newHookServer(t)
	o, sender := start(t, func(c *notify.Config) { c.Timeout, c.Concurrency = 50*time.Millisecond, 4 })
	const many = 60
	for i := range many {
		o.end(t, fmt.Sprintf("%s/%d", hung.URL, i), well)
	}
	o.end(t, good.URL, well)
	<-good.calls
	put := 0
	for range many + 1 {
		if d := <-o.done; d.again > 0 {
			put++
		}
	}
	if tries := len(hung.calls); tries > 12 || put != many {
		t.Errorf("the silent one was called %d times, and %d of its %d notices were put off", tries, put, many)
	}
	if s := sender.Stats(); s.GivenUp != 0 {
		t.Errorf("stats are %+v", s)
	}
}

func TestTheOutboxIsAway(t *testing.T) {
	h := newHookServer(t)
	o, _ := start(t, nil)
	o.Fail("DueWebhooks", 5)
	o.end(t, h.URL, well)
	<-h.calls
	if n := strings.Count(o.logged.String(), "webhooks not read"); n > 1 {
		t.Errorf("an outage is logged %d times", n)
	}
}

func TestSettingsThatAreWrong(t *testing.T) {
	if _, err := notify.New(notify.Config{Timeout: -1}, outbox{}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a negative time is taken")
	}
}

// A notice that was taken right before its job was tried again waits: to end
// it could end the next one.
func TestANoticeOfAJobThatRunsAgainWaits(t *testing.T) {
	h := newHookServer(t)
	o, _ := start(t, nil)
	o.Before("Job", func(context.Context) error {
		o.Edit(1, func(j *jobs.Job) { j.State = jobs.Running })
		return nil
	})
	o.end(t, h.URL, ill)
	if d := <-o.done; d.again != 10*time.Minute || d.failure != "the job is being tried again" {
		t.Errorf("got %+v", d)
	}
	if n := len(h.calls); n != 0 {
		t.Errorf("%d notices were sent of a job that is not over", n)
	}
}
