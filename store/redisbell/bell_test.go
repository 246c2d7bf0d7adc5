package redisbell_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/spillway-media/spillway/internal/testservices"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/redisbell"
)

var _ jobs.Doorbell = (*redisbell.Bell)(nil)

// journal is a log that is read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func open(t testing.TB, url string) (*redisbell.Bell, *journal) {
	t.Helper()
	return openWith(t, url, redisbell.Config{})
}

// patient opens a bell that takes no slow machine for a dead server, and fails
// the test when anything fails.
func patient(t testing.TB, url string) *redisbell.Bell {
	t.Helper()
	bell, log := openWith(t, url, redisbell.Config{Timeout: 20 * time.Second})
	t.Cleanup(func() {
		if s := bell.Stats(); s.Failures+s.Doubts > 0 || !s.Up {
			t.Errorf("%d exchanges failed and %d are in doubt:\n%s", s.Failures, s.Doubts, log)
		}
	})
	return bell
}

func openWith(t testing.TB, url string, cfg redisbell.Config) (*redisbell.Bell, *journal) {
	t.Helper()
	log := &journal{}
	bell, err := redisbell.Open(t.Context(), url, cfg, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bell.Close() })
	return bell, log
}

func client(t testing.TB, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o.MaxRetries = -1
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// depth is what LLEN says.
func depth(t testing.TB, c *redis.Client, queue string) int64 {
	t.Helper()
	n, err := c.LLen(context.Background(), "queue:"+queue).Result()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// eventually is for what another goroutine or process does.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("it never came to be that %s", what)
		}
	}
}

func TestDepthIsTheLengthOfTheList(t *testing.T) {
	server := testservices.Redis(t)
	bell := patient(t, server.URL)
	c, ctx := client(t, server.URL), t.Context()
	for _, step := range []struct {
		name string
		do   func()
		want int64
	}{
		{"a ring pushes as many tokens as there are jobs", func() { bell.Ring(ctx, "images", 2501) }, 2501},
		{"a wait takes one", func() { bell.Wait(ctx, []string{"bulk", "images"}, time.Minute) }, 2500},
		{"a claim of more than was waited for takes the rest", func() { bell.Took(ctx, map[string]int{"images": 499}) }, 2001},
		{"a token that led to another queue's job is put back", func() { bell.Took(ctx, map[string]int{"images": -1, "bulk": 1}) }, 2002},
		{"a ring of none changes nothing", func() { bell.Ring(ctx, "images", 0) }, 2002},
	} {
		step.do()
		if got := depth(t, c, "images"); got != step.want {
			t.Errorf("%s: LLEN is %d, want %d", step.name, got, step.want)
		}
	}
}

func TestAClaimThatOvertakesItsRingLeavesNoToken(t *testing.T) {
	server := testservices.Redis(t)
	worker := patient(t, server.URL)
	api := patient(t, server.URL)
	c, ctx := client(t, server.URL), t.Context()
	worker.Took(ctx, map[string]int{"images": 3})
	api.Ring(ctx, "images", 2)
	api.Ring(ctx, "images", 2)
	if got := depth(t, c, "images"); got != 1 {
		t.Errorf("LLEN is %d after 3 claims and 4 jobs, want 1", got)
	}
	if n := c.Exists(ctx, "early:images").Val(); n != 0 {
		t.Error("the claims that were early are still put down")
	}
	worker.Took(ctx, map[string]int{"bulk": 1})
	if ttl := c.PTTL(ctx, "early:bulk").Val(); ttl <= 0 || ttl > 80*time.Second {
		t.Errorf("an early claim is remembered for %v, want some time limits", ttl)
	}
}

func TestRepairSetsEveryDepth(t *testing.T) {
	server := testservices.Redis(t)
	bell := patient(t, server.URL)
	c, ctx := client(t, server.URL), t.Context()
	for queue, n := range map[string]int{"right": 7, "surplus": 5000, "gone": 12} {
		bell.Ring(ctx, queue, n)
	}
	want := map[string]int64{"right": 7, "surplus": 1234, "gone": 0, "missing": 4321, "never": 0}
	changed, err := bell.Repair(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]int64{"surplus": 1234 - 5000, "gone": -12, "missing": 4321}
	if diff := cmp.Diff(by, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	for queue, n := range want {
		if got := depth(t, c, queue); got != n {
			t.Errorf("LLEN of %s is %d, want %d", queue, got, n)
		}
	}
	if s := bell.Stats(); s.Repairs != 3 || s.Drift != 3766+12+4321 {
		t.Errorf("stats say %d repairs of %d tokens, want 3 of %d", s.Repairs, s.Drift, 3766+12+4321)
	}
	if changed, err = bell.Repair(ctx, want); err != nil || len(changed) != 0 {
		t.Errorf("the second repair changed %v, %v; want nothing", changed, err)
	}
	if changed, err = bell.Repair(ctx, nil); err != nil || len(changed) != 0 {
		t.Errorf("the repair of no queues changed %v, %v; want nothing", changed, err)
	}
}

func TestClaimsBetweenAFlushAndItsRepairEatNoTokens(t *testing.T) {
	server := testservices.Redis(t)
	bell := patient(t, server.URL)
	c, ctx := client(t, server.URL), t.Context()
	bell.Ring(ctx, "images", 15)
	c.FlushAll(ctx)
	bell.Took(ctx, map[string]int{"images": 5}) // as if all five were early
	if _, err := bell.Repair(ctx, map[string]int64{"images": 10}); err != nil {
		t.Fatal(err)
	}
	bell.Ring(ctx, "images", 3)
	if got := depth(t, c, "images"); got != 13 {
		t.Errorf("LLEN is %d, want 13", got)
	}
}

func TestATimeLimitOutOfRangeIsNamed(t *testing.T) {
	_, err := redisbell.Open(t.Context(), "redis://127.0.0.1:1/0", redisbell.Config{Timeout: time.Hour}, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "timeout: 1h0m0s is neither 0 nor within 10ms to 1m0s") {
		t.Errorf("the error is %v", err)
	}
}

func TestNoPasswordIsTold(t *testing.T) {
	const secret = "hunter2-s3cret"
	for _, url := range []string{
		"redis://user:" + secret + "@127.0.0.1:notaport/0", "redis://user:" + secret + "/@host/x%zz",
		"http://user:" + secret + "@127.0.0.1/0", "redis://user:" + secret + "@127.0.0.1/nodatabase", "\x7f" + secret,
	} {
		_, err := redisbell.Open(t.Context(), url, redisbell.Config{}, slog.New(slog.DiscardHandler))
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("the error of a bad URL is %q, want one without the password", err)
		}
	}
	server := testservices.Redis(t)
	bell, log := open(t, strings.Replace(server.URL, "redis://", "redis://user:"+secret+"@", 1))
	_, err := bell.Repair(t.Context(), map[string]int64{"images": 1})
	if err == nil || strings.Contains(err.Error()+log.String(), secret) {
		t.Errorf("a wrong password gives %q and the log\n%s\nwant an error without the password", err, log)
	}
	if bell.Stats().Up {
		t.Error("a server that refuses the password counts as up")
	}
}
