package elastic_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

func second(ctx context.Context) error {
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func TestShutdownWorksOffTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob, MaxWorkers: 1})
		var tickets []*elastic.Ticket
		for range 5 {
			tickets = append(tickets, enqueue(t, p, second))
		}
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		for _, ticket := range tickets {
			select {
			case <-ticket.Done():
				if ticket.Err() != nil {
					t.Error(ticket.Err())
				}
			default:
				t.Error("a job has not ended")
			}
		}
		if err := p.Submit(context.Background(), second); !errors.Is(err, elastic.ErrShuttingDown) {
			t.Errorf("after it, a job got %v", err)
		}
	})
}

func TestShutdownReturnsQueuedJobsOnceInItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob, MaxWorkers: 1})
		ran := 0
		outcomes := make(chan error, 20)
		for range 10 {
			go func() {
				outcomes <- p.Submit(context.Background(), func(ctx context.Context) error { ran++; return second(ctx) })
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 2500*time.Millisecond)
		defer cancel()
		began := time.Now()
		err := p.Shutdown(ctx)
		if spent := time.Since(began); spent != 2500*time.Millisecond {
			t.Errorf("it took %s", spent)
		}
		var end *elastic.ShutdownError
		if !errors.As(err, &end) || *end != (elastic.ShutdownError{Returned: 7, Stopped: 1}) {
			t.Errorf("it tells %v", err)
		}
		synctest.Wait()
		var done, returned int
		for range len(outcomes) {
			switch err := <-outcomes; {
			case err == nil:
				done++
			case errors.Is(err, elastic.ErrShuttingDown) && !errors.Is(err, elastic.ErrAbandoned):
				returned++
			default:
				t.Error(err)
			}
		}
		if done != 2 || returned != 8 || ran != 3 {
			t.Errorf("%d done and %d returned of %d that ran, want 2, 8 and 3", done, returned, ran)
		}
	})
}

func TestShutdownAbandonsAJobThatDoesNotListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := elastic.New(elastic.Config[job]{Handler: doJob, MinWorkers: 2, RetireGrace: time.Second, DrainTimeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		deaf, heard, release := block()
		ctx, cancel := context.WithCancel(context.Background())
		end := make(chan error)
		go func() { end <- p.Run(ctx) }()
		outcome := make(chan error, 2)
		go func() { outcome <- p.Submit(context.Background(), deaf) }()
		<-heard
		deaf2, heard2, release2 := block()
		ticket := enqueue(t, p, deaf2) // to end it twice would close a closed channel
		<-heard2
		cancel()
		began := time.Now()
		var told *elastic.ShutdownError
		if err := <-end; !errors.As(err, &told) || told.Abandoned != 2 || time.Since(began) != 2*time.Second {
			t.Errorf("Run: %v after %s", err, time.Since(began))
		}
		if err := <-outcome; !errors.Is(err, elastic.ErrAbandoned) || !errors.Is(err, elastic.ErrShuttingDown) {
			t.Errorf("its caller got %v", err)
		}
		release()
		release2()
		synctest.Wait()
		if len(outcome) != 0 || !errors.Is(ticket.Err(), elastic.ErrAbandoned) {
			t.Errorf("the jobs ended a second time: %v", ticket.Err())
		}
	})
}

func TestShutdownBeforeRunReturnsWhatWasQueued(t *testing.T) {
	p, err := elastic.New(elastic.Config[job]{Handler: doJob})
	if err != nil {
		t.Fatal(err)
	}
	ticket := enqueue(t, p, second)
	var told *elastic.ShutdownError
	if err := p.Shutdown(t.Context()); !errors.As(err, &told) || told.Returned != 1 {
		t.Errorf("it tells %v", err)
	}
	if !errors.Is(ticket.Wait(t.Context()), elastic.ErrShuttingDown) {
		t.Errorf("the job got %v", ticket.Err())
	}
	if err := p.Run(t.Context()); !errors.As(err, &told) {
		t.Errorf("Run, afterwards, tells %v", err)
	}
}

func TestManyMayShutDownAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob, MaxWorkers: 2})
		for range 20 {
			enqueue(t, p, second)
		}
		synctest.Wait()
		results := make(chan error, 3)
		for patience := range 3 {
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(patience+1)*time.Second)
				defer cancel()
				results <- p.Shutdown(ctx)
			}()
		}
		for range 3 {
			var told *elastic.ShutdownError
			if err := <-results; !errors.As(err, &told) || told.Returned+told.Stopped < 16 {
				t.Errorf("one was told %v", err)
			}
		}
	})
}
