package transform

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/elastic"
	"github.com/spillway-media/spillway/internal/media"
)

const minute = time.Minute

// crew is a service that has nothing but its workers.
func crew(t *testing.T, jobs int, budget int64, queue int) *Service {
	t.Helper()
	c := DefaultConfig(jobs, 1<<30)
	c.OverloadWait = minute
	c.Queue, c.QueueWait = queue, minute
	c.Scale.MinWorkers = jobs + 1
	return crewOf(t, c, budget)
}

// crewOf takes the budget apart, which may be less than is of use.
func crewOf(t *testing.T, c Config, budget int64) *Service {
	t.Helper()
	s, err := New(c, nil, nil, nil, Stores{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.cfg.MemoryBudget = budget
	c.MemoryBudget = budget
	if s.crews, err = newCrews(c, s.perform); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- s.crews.each(func(p *elastic.DynamicScaler[*turn]) error { return p.Run(context.WithoutCancel(t.Context())) })
	}()
	t.Cleanup(func() {
		if err := errors.Join(s.Shutdown(context.Background()), <-ended); err != nil {
			t.Errorf("shut down: %v", err)
		}
		if g, l := s.crews.gate.Stats(), s.line.stats(); g.Running != 0 || g.Held != 0 || l.waiting != 0 || l.working != 0 {
			t.Errorf("something was kept: %+v, %+v", g, l)
		}
	})
	return s
}

// start is how work of a second begins that is not a picture's.
func start(ctx context.Context, s *Service, bytes int64, work func(context.Context, *turn)) (*turn, error) {
	if err := s.tooHeavy(bytes); err != nil {
		return nil, err
	}
	t := newTurn(quick, time.Second, bytes, work)
	return t, s.begin(ctx, t)
}

// hold begins work that lasts until the returned function is called.
func hold(t *testing.T, s *Service, bytes int64) (release func()) {
	t.Helper()
	let := make(chan struct{})
	w, err := start(t.Context(), s, bytes, func(context.Context, *turn) { <-let })
	if err != nil {
		t.Errorf("begin with %d bytes: %v", bytes, err)
		return func() {}
	}
	return func() { close(let); <-w.ended }
}

func nothing(context.Context, *turn) {}

func wantCode(t *testing.T, err error, code media.Code) {
	t.Helper()
	var coded *media.Error
	if !errors.As(err, &coded) || coded.Code != code {
		t.Fatalf("got error %v, want code %s", err, code)
	}
}

// inBubble runs a test where every goroutine is seen and time is a model.
func inBubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

func TestTurns(t *testing.T) {
	t.Run("without any patience a free slot is still given", inBubble(func(t *testing.T) {
		c := DefaultConfig(1, 1<<30)
		c.QueueWait = 0
		s := crewOf(t, c, 100)
		for range 200 {
			w, err := start(t.Context(), s, 10, nothing)
			if err != nil {
				t.Fatal(err)
			}
			<-w.ended
		}
		if l := s.line.stats(); l.refused != 0 || l.done != 200 {
			t.Errorf("stats %+v", l)
		}
	}))
	t.Run("without any patience a taken slot is a refusal at once", inBubble(func(t *testing.T) {
		c := DefaultConfig(1, 1<<30)
		c.QueueWait = 0
		s := crewOf(t, c, 100)
		release := hold(t, s, 1)
		began := time.Now()
		_, err := start(t.Context(), s, 1, nothing)
		wantCode(t, err, media.CodeOverloaded)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("refused after %s", waited)
		}
		release()
	}))
	t.Run("a job larger than the whole budget is refused at once", inBubble(func(t *testing.T) {
		s := crew(t, 4, 100, 10)
		_, err := start(t.Context(), s, 101, nothing)
		wantCode(t, err, media.CodeMemory)
	}))
	t.Run("slots bound how many run, however many workers there are", inBubble(func(t *testing.T) {
		c := DefaultConfig(1, 1<<30)
		c.Scale.MinWorkers = 8
		s := crewOf(t, c, 100)
		first := hold(t, s, 1)
		second := make(chan func())
		go func() { second <- hold(t, s, 1) }()
		synctest.Wait()
		if l, g := s.line.stats(), s.crews.gate.Stats(); g.Running != 1 || l.waiting != 1 {
			t.Fatalf("running %d, waiting %d; want 1 and 1", g.Running, l.waiting)
		}
		first()
		(<-second)()
		synctest.Wait()
		if l, g := s.line.stats(), s.crews.gate.Stats(); g.Running != 0 || g.Held != 0 || l.done != 2 {
			t.Fatalf("after both: %+v, %+v", g, l)
		}
	}))
	t.Run("bytes bound what runs and small jobs do not overtake a large one", inBubble(func(t *testing.T) {
		s := crew(t, 4, 95, 10) // room for the large one alone
		first := hold(t, s, 60)
		order := make(chan string, 2)
		queue := func(name string, bytes int64) {
			go func() {
				release := hold(t, s, bytes)
				order <- name
				release()
			}()
			synctest.Wait()
		}
		queue("large", 90)
		queue("small", 10)
		if l, g := s.line.stats(), s.crews.gate.Stats(); l.waiting != 2 || g.Held != 60 {
			t.Fatalf("waiting %d, held %d; want 2 and 60", l.waiting, g.Held)
		}
		first()
		if got := <-order + " " + <-order; got != "large small" {
			t.Fatalf("order %q", got)
		}
	}))
	t.Run("more workers never hold more bytes than the budget", inBubble(func(t *testing.T) {
		c := DefaultConfig(8, 1<<30)
		c.Scale.MinWorkers = 8
		s := crewOf(t, c, 100)
		held := make(chan int64, 50)
		for range 50 {
			go func() {
				w, err := start(t.Context(), s, 30, func(context.Context, *turn) {
					held <- s.crews.gate.Stats().Held
					time.Sleep(time.Millisecond) //nolint:forbidigo // the bubble's clock, not the machine's
				})
				if err != nil {
					t.Error(err)
					return
				}
				<-w.ended
			}()
			synctest.Wait()
		}
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock, not the machine's
		var most int64
		for range 50 {
			most = max(most, <-held)
		}
		if l := s.line.stats(); most != 90 || l.done != 50 {
			t.Errorf("held up to %d bytes of 100 by %d jobs of 30", most, l.done)
		}
	}))
	t.Run("a full queue refuses at once", inBubble(func(t *testing.T) {
		s := crew(t, 1, 100, 1)
		first := hold(t, s, 1)
		waiting := make(chan func())
		go func() { waiting <- hold(t, s, 1) }()
		synctest.Wait()
		_, err := start(t.Context(), s, 1, nothing)
		wantCode(t, err, media.CodeOverloaded)
		first()
		(<-waiting)()
	}))
	for name, workers := range map[string]int{"the gate": 4, "the queue": 1} {
		t.Run("a waiter that gives up leaves "+name+" at once and lets the next one in", inBubble(func(t *testing.T) {
			c := DefaultConfig(2, 1<<30)
			c.Queue, c.Scale.MinWorkers, c.Scale.MaxWorkers = 2, workers, workers
			s := crewOf(t, c, 100)
			first := hold(t, s, 60)
			ctx, cancel := context.WithCancel(t.Context())
			gone := make(chan error)
			go func() { _, err := start(ctx, s, 90, nothing); gone <- err }()
			synctest.Wait()
			small := make(chan func())
			go func() { small <- hold(t, s, 10) }()
			synctest.Wait()
			cancel()
			wantCode(t, <-gone, media.CodeCancelled)
			synctest.Wait()
			if l := s.line.stats(); workers > 1 && l.waiting != 0 || l.waiting > 1 {
				t.Errorf("%d wait", l.waiting)
			}
			if workers == 1 {
				first()
				(<-small)()
				return
			}
			(<-small)()
			first()
		}))
	}
	t.Run("patience ends the wait", inBubble(func(t *testing.T) {
		s := crew(t, 1, 100, 10)
		first := hold(t, s, 1)
		began := time.Now()
		_, err := start(t.Context(), s, 1, nothing)
		wantCode(t, err, media.CodeOverloaded)
		if waited := time.Since(began); waited != minute {
			t.Errorf("waited for %s, want %s", waited, minute)
		}
		if l := s.line.stats(); l.refused != 1 {
			t.Errorf("%d refused", l.refused)
		}
		first()
	}))
	t.Run("a panic ends its own turn only", inBubble(func(t *testing.T) {
		s := crew(t, 1, 100, 10)
		for range 20 {
			w, err := start(t.Context(), s, 100, func(context.Context, *turn) { panic("work") })
			if err != nil {
				t.Fatal(err)
			}
			<-w.ended
		}
		hold(t, s, 100)()
	}))
	t.Run("the drain estimate follows pace and queue", inBubble(func(t *testing.T) {
		s := crew(t, 1, 100, 10)
		for range 50 {
			release := hold(t, s, 1)
			time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock, not the machine's
			release()
		}
		last := hold(t, s, 1)
		if d := s.line.drain(); d < 490*time.Millisecond || d > 510*time.Millisecond {
			t.Fatalf("drain of one running job at 1 s each, half done for all one knows: %s", d)
		}
		last()
	}))
	t.Run("what waits at a shutdown still gets its turn, and what comes is refused", inBubble(func(t *testing.T) {
		s := crew(t, 1, 100, 10)
		first := hold(t, s, 1)
		second := make(chan func())
		go func() { second <- hold(t, s, 1) }()
		synctest.Wait()
		ended := make(chan error)
		go func() { ended <- s.Shutdown(t.Context()) }()
		synctest.Wait()
		_, err := start(t.Context(), s, 1, nothing)
		wantCode(t, err, media.CodeOverloaded)
		first()
		(<-second)()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}))
}

func TestWorkersGrowWithNeedAndShrinkAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := DefaultConfig(4, 1<<30)
		c.Queue, c.QueueWait = 100, minute
		s := crewOf(t, c, 100)
		for range 60 {
			go func() {
				if _, err := start(t.Context(), s, 1, func(context.Context, *turn) {
					time.Sleep(200 * time.Millisecond) //nolint:forbidigo // the bubble's clock, not the machine's
				}); err != nil {
					t.Error(err)
				}
			}()
		}
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock, not the machine's
		if live := s.crews.pools[quick].Stats().Live; live < 4 {
			t.Errorf("%d workers under load, want 4 or more", live)
		}
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's clock, not the machine's
		if live := s.crews.pools[quick].Stats().Live; live != 1 {
			t.Errorf("%d workers after it, want 1", live)
		}
	})
}

// One picture of theirs takes less than people would call a wait.
func TestTwoClientsGetTwoWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := DefaultConfig(2, 1<<30)
		c.QueueWait = minute
		s := crewOf(t, c, 100)
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		var clients sync.WaitGroup
		for range 2 {
			clients.Go(func() {
				for ctx.Err() == nil {
					w, err := start(t.Context(), s, 1, func(context.Context, *turn) {
						time.Sleep(20 * time.Millisecond) //nolint:forbidigo // the bubble's clock, not the machine's
					})
					if err != nil {
						t.Error(err)
						return
					}
					<-w.ended
				}
			})
		}
		clients.Wait()
		if live, done := s.crews.pools[quick].Stats().Live, s.line.stats().done; live < 2 || done < 90 {
			t.Errorf("%d workers made %d pictures of 100 that two can make", live, done)
		}
		synctest.Wait()
	})
}
