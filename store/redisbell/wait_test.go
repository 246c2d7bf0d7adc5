package redisbell_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/spillway-media/spillway/internal/testservices"
	"github.com/spillway-media/spillway/store/redisbell"
)

// long is a poll that no test waits for.
const long = time.Hour

// listening has somebody wait, and gives what was taken.
func listening(ctx context.Context, bell *redisbell.Bell, poll time.Duration, queues ...string) <-chan string {
	took := make(chan string, 1)
	go func() { took <- bell.Wait(ctx, queues, poll) }()
	return took
}

// blocked waits until n clients of the server wait in it.
func blocked(t *testing.T, url string, n int) {
	t.Helper()
	c := client(t, url)
	eventually(t, "everybody waits in redis", func() bool {
		return strings.Contains(c.Info(t.Context(), "clients").Val(), fmt.Sprintf("blocked_clients:%d\r", n))
	})
}

// takes fails unless queue is what was taken, before long is over.
func takes(t *testing.T, took <-chan string, want string) {
	t.Helper()
	select {
	case got := <-took:
		if got != want {
			t.Fatalf("Wait took %q, want %q", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("Wait took nothing, want %q", want)
	}
}

func TestAWaitHearsARingOfAnotherProcess(t *testing.T) {
	server := testservices.Redis(t)
	worker := patient(t, server.URL)
	api := patient(t, server.URL)
	took := listening(t.Context(), worker, long, "bulk", "images")
	blocked(t, server.URL, 1)
	api.Ring(t.Context(), "images", 1)
	takes(t, took, "images")
	takes(t, listening(t.Context(), worker, 50*time.Millisecond, "images"), "")
}

func TestOneRingWakesOneOfManyProcesses(t *testing.T) {
	server := testservices.Redis(t)
	ctx, cancel := context.WithCancel(t.Context())
	const processes = 12
	var woken, tokens atomic.Int32
	var all sync.WaitGroup
	for range processes {
		bell := patient(t, server.URL)
		all.Go(func() {
			if bell.Wait(ctx, []string{"images"}, long) != "" {
				tokens.Add(1)
			}
			woken.Add(1)
		})
	}
	blocked(t, server.URL, processes)
	api := patient(t, server.URL)
	api.Ring(ctx, "images", 2)
	eventually(t, "two wake", func() bool { return woken.Load() >= 2 })
	blocked(t, server.URL, processes-2)
	cancel()
	all.Wait()
	if tokens.Load() != 2 {
		t.Errorf("%d tokens were taken, want 2", tokens.Load())
	}
}

func TestAWaitEndsWithItsContextAndLosesNoToken(t *testing.T) {
	server := testservices.Redis(t)
	worker := patient(t, server.URL)
	api := patient(t, server.URL)
	c := client(t, server.URL)
	taken := int64(0)
	const rounds = 300
	for range rounds {
		ctx, cancel := context.WithCancel(t.Context())
		took := listening(ctx, worker, long, "images")
		go cancel()
		api.Ring(t.Context(), "images", 1)
		if <-took != "" {
			taken++
		}
	}
	if left := depth(t, c, "images"); left+taken != rounds {
		t.Errorf("%d tokens were taken and %d are left of %d", taken, left, rounds)
	}
	blocked(t, server.URL, 0)
}

func TestAWaitInARedisThatHangsEndsWithItsContextAndIsCounted(t *testing.T) {
	server := testservices.Redis(t)
	p, url := newProxy(t, server.URL)
	bell, _ := open(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	took := listening(ctx, bell, long, "images")
	blocked(t, server.URL, 1)
	p.hang()
	cancel()
	takes(t, took, "")
	if s := bell.Stats(); s.Doubts != 1 {
		t.Errorf("%d waits are in doubt, want 1", s.Doubts)
	}
}

func TestADeadRedisCostsAnEnqueueNothing(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(*testservices.RedisServer, *proxy)
	}{
		{"it was killed", func(s *testservices.RedisServer, _ *proxy) { s.Kill() }},
		{"it hangs", func(_ *testservices.RedisServer, p *proxy) { p.hang() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := testservices.Redis(t)
			p, url := newProxy(t, server.URL)
			bell, log := open(t, url)
			bell.Ring(t.Context(), "images", 1)
			test.end(server, p)
			before := p.connections()
			const rings = 20_000 // at 250 ms each they would take more than an hour
			for range rings {
				bell.Ring(t.Context(), "images", 1)
			}
			if s := bell.Stats(); s.Up || s.Failures != rings {
				t.Errorf("up %v, %d failures; want it away and %d", s.Up, s.Failures, rings)
			}
			if n := p.connections() - before; n > 20 {
				t.Errorf("%d connections were tried, want a few", n)
			}
			if n := strings.Count(log.String(), "redis is away"); n != 1 {
				t.Errorf("it was logged %d times, want once:\n%s", n, log)
			}
			takes(t, listening(t.Context(), bell, long, "images"), "") // rung here, though not in redis
		})
	}
}

func TestAWaitPollsWhileRedisIsAwayAndHearsItsOwnProcess(t *testing.T) {
	server := testservices.Redis(t)
	bell, _ := open(t, server.URL)
	took := listening(t.Context(), bell, 200*time.Millisecond, "images")
	blocked(t, server.URL, 1)
	server.Kill()
	takes(t, took, "")
	for range 5 { // each for its poll, and not in circles
		start := time.Now()
		takes(t, listening(t.Context(), bell, 20*time.Millisecond, "images"), "")
		if took := time.Since(start); took < 15*time.Millisecond {
			t.Errorf("a wait of 20 ms was over after %v", took)
		}
	}
	took = listening(t.Context(), bell, long, "images")
	bell.Ring(t.Context(), "images", 1)
	takes(t, took, "")
}

func TestABellComesBackByItself(t *testing.T) {
	for _, test := range []struct {
		name  string
		away  func(*testservices.RedisServer, *proxy)
		again func(*testservices.RedisServer, *proxy)
	}{
		{"after a restart", func(s *testservices.RedisServer, _ *proxy) { s.Kill() }, func(s *testservices.RedisServer, _ *proxy) { s.Restart() }},
		{"after a restart that nobody noticed", func(s *testservices.RedisServer, _ *proxy) { s.Restart() }, func(*testservices.RedisServer, *proxy) {}},
		{"after a failover whose old connections hang", func(_ *testservices.RedisServer, p *proxy) { p.hang() }, func(_ *testservices.RedisServer, p *proxy) { p.failOver() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := testservices.Redis(t)
			p, url := newProxy(t, server.URL)
			worker, log := open(t, url)
			api, _ := open(t, url)
			// Several connections of the api are idle when it happens.
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() { api.Ring(t.Context(), "images", 1) })
			}
			all.Wait()
			for range 8 {
				takes(t, listening(t.Context(), worker, long, "images"), "images")
			}
			took := listening(t.Context(), worker, 300*time.Millisecond, "images")
			blocked(t, server.URL, 1)
			test.away(server, p)
			takes(t, took, "")
			api.Ring(t.Context(), "images", 1)
			test.again(server, p)
			// Nobody does anything but what a worker and an api do.
			eventually(t, "a ring is heard again", func() bool {
				api.Ring(t.Context(), "images", 1)
				return worker.Wait(t.Context(), []string{"images"}, 50*time.Millisecond) == "images"
			})
			if !worker.Stats().Up || !api.Stats().Up {
				t.Errorf("worker up %v, api up %v; want both", worker.Stats().Up, api.Stats().Up)
			}
			if away, back := strings.Count(log.String(), "redis is away"), strings.Count(log.String(), "redis is back"); away != back || away > 2 {
				t.Errorf("it was logged to be away %d times and back %d times:\n%s", away, back, log)
			}
		})
	}
}

func TestARepairIsNotHeldUpByTheBreaker(t *testing.T) {
	server := testservices.Redis(t)
	bell, _ := open(t, server.URL)
	server.Kill()
	for range 8 { // the breaker rests for seconds after so many
		if _, err := bell.Repair(t.Context(), map[string]int64{"images": 3}); err == nil {
			t.Fatal("a repair without redis says that it was done")
		}
	}
	server.Restart()
	if _, err := bell.Repair(t.Context(), map[string]int64{"images": 3}); err != nil {
		t.Errorf("the repair after the restart: %v", err)
	}
	if got := depth(t, client(t, server.URL), "images"); got != 3 || !bell.Stats().Up {
		t.Errorf("LLEN is %d and up is %v, want 3 and true", got, bell.Stats().Up)
	}
}

func TestFlushedTokensAreOnlyARepairAway(t *testing.T) {
	server := testservices.Redis(t)
	bell := patient(t, server.URL)
	c := client(t, server.URL)
	bell.Ring(t.Context(), "images", 10)
	took := listening(t.Context(), bell, long, "bulk")
	blocked(t, server.URL, 1)
	if err := c.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	changed, err := bell.Repair(t.Context(), map[string]int64{"images": 10, "bulk": 1})
	if err != nil || changed["images"] != 10 || changed["bulk"] != 1 {
		t.Errorf("the repair changed %v, %v", changed, err)
	}
	takes(t, took, "bulk")
	if got := depth(t, c, "images"); got != 10 {
		t.Errorf("LLEN is %d, want 10", got)
	}
}

func TestFalseTokensAreNotTakenInCircles(t *testing.T) {
	server := testservices.Redis(t)
	worker := patient(t, server.URL)
	api := patient(t, server.URL)
	c := client(t, server.URL)
	api.Ring(t.Context(), "images", 5)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	claims := 0
	for ctx.Err() == nil { // a worker that finds nothing to claim
		if queue := worker.Wait(ctx, []string{"images", "bulk"}, long); queue != "" {
			claims++
			worker.Took(ctx, map[string]int{queue: -1})
		}
	}
	if claims < 2 || claims > 10 {
		t.Errorf("it claimed %d times in a second for false tokens, want about 5", claims)
	}
	if got := depth(t, c, "images"); got != 5 {
		t.Errorf("LLEN is %d, want 5: it is not for a worker to throw tokens away", got)
	}
	api.Ring(t.Context(), "bulk", 1) // the other queue is heard all the while
	for range 5 {
		queue := worker.Wait(t.Context(), []string{"images", "bulk"}, long)
		if queue == "bulk" {
			return
		}
		worker.Took(t.Context(), map[string]int{queue: -1})
	}
	t.Error("false tokens of one queue hide those of another")
}

func TestErrorsOfAServerThatIsThereCountAsAway(t *testing.T) {
	for _, fault := range []string{
		"LOADING Redis is loading the dataset in memory", "READONLY You can't write against a read only replica.",
		"OOM command not allowed when used memory > 'maxmemory'.", "MISCONF Redis is configured to save RDB snapshots",
	} {
		t.Run(strings.Fields(fault)[0], func(t *testing.T) {
			server := miniredis.RunT(t)
			bell, log := open(t, "redis://"+server.Addr())
			server.SetError(fault)
			bell.Ring(t.Context(), "images", 1)
			if s := bell.Stats(); s.Up || s.Failures != 1 {
				t.Errorf("stats are %+v, want it away", s)
			}
			server.SetError("")
			eventually(t, "it is back", func() bool {
				bell.Wait(t.Context(), []string{"images"}, 10*time.Millisecond)
				return bell.Stats().Up
			})
			if !strings.Contains(log.String(), strings.Fields(fault)[0]) {
				t.Errorf("the log does not say why:\n%s", log)
			}
		})
	}
}

func TestNothingIsLeftOfAClosedBell(t *testing.T) {
	server := testservices.Redis(t)
	p, url := newProxy(t, server.URL)
	bell, _ := open(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	var waits []<-chan string
	for range 5 {
		waits = append(waits, listening(ctx, bell, long, "images"))
	}
	blocked(t, server.URL, 1) // one for the process, however many wait
	p.hang()
	bell.Ring(ctx, "images", 1)
	cancel()
	for _, took := range waits {
		<-took
	}
	if err := bell.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "no goroutine of it is left", func() bool {
		stacks := make([]byte, 1<<20)
		text := string(stacks[:runtime.Stack(stacks, true)])
		return !strings.Contains(text, "redisbell.(*") && !strings.Contains(text, "go-redis/v9.(*")
	})
}
