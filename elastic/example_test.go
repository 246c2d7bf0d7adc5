package elastic_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

// A pool for jobs whose workers need no state is a handler and two limits.
func Example() {
	pool, err := elastic.New(elastic.Config[string]{
		MinWorkers: 1,
		MaxWorkers: 8,
		Handler: func(ctx context.Context, name string) error {
			if name == "" {
				return errors.New("a name is needed")
			}
			fmt.Println("hello", name)
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	var pools sync.WaitGroup
	pools.Go(func() {
		if err := pool.Run(ctx); err != nil { // blocks until ctx ends and the queue is worked off
			fmt.Println(err)
		}
	})

	fmt.Println("outcome:", pool.Submit(ctx, "Ada"))
	fmt.Println("outcome:", pool.Submit(ctx, ""))

	stop()
	pools.Wait()
	fmt.Println("after:", pool.Submit(context.Background(), "Bob"))
	// Output:
	// hello Ada
	// outcome: <nil>
	// outcome: a name is needed
	// after: pool is shutting down
}

// scratch is a worker with a buffer that it uses again for every job.
type scratch struct {
	buffer strings.Builder
	result chan<- string
}

func (s *scratch) Do(_ context.Context, word string) error {
	s.buffer.Reset()
	for i := len(word) - 1; i >= 0; i-- {
		s.buffer.WriteByte(word[i])
	}
	s.result <- s.buffer.String()
	return nil
}

func (s *scratch) Close() { fmt.Println("closed") }

// Workers with state come from a factory; each is used by one goroutine and
// closed when it retires.
func Example_statefulWorkers() {
	results := make(chan string, 2)
	pool, err := elastic.New(elastic.Config[string]{
		MaxWorkers: 1,
		Factory: func(_ context.Context, idx int64) (elastic.Worker[string], error) {
			fmt.Println("made number", idx)
			return &scratch{result: results}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	var pools sync.WaitGroup
	pools.Go(func() { _ = pool.Run(ctx) })

	for _, word := range []string{"stressed", "drawer"} {
		if err := pool.Submit(ctx, word); err != nil {
			fmt.Println(err)
		}
		fmt.Println(<-results)
	}
	stop()
	pools.Wait()
	// Output:
	// made number 0
	// desserts
	// reward
	// closed
}

// Pools that compete for the same CPU share a gate. A handler that also waits,
// for a network say, marks the part that is CPU work, so that only this part is
// rationed: here four jobs fetch at once, and one at a time computes.
func ExampleEnterCPU() {
	gate, err := elastic.NewGate(elastic.GateConfig{Slots: 1, Memory: 64 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	var computing, most atomic.Int64
	pool, err := elastic.New(elastic.Config[int]{
		Name: "images", MinWorkers: 4, MaxWorkers: 4, Gate: gate,
		Handler: func(ctx context.Context, picture int) error {
			<-time.After(time.Millisecond) // the fetch
			leave, err := elastic.EnterCPU(ctx, 12<<20)
			if err != nil {
				return err // ctx ended before it was this job's turn
			}
			defer leave()
			most.Store(max(most.Load(), computing.Add(1)))
			<-time.After(time.Millisecond) // the work
			computing.Add(-1)
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	var pools, callers sync.WaitGroup
	pools.Go(func() { _ = pool.Run(ctx) })
	for picture := range 20 {
		callers.Go(func() {
			if err := pool.Submit(ctx, picture); err != nil {
				fmt.Println(err)
			}
		})
	}
	callers.Wait()
	stop()
	pools.Wait()
	fmt.Println("done:", pool.Stats().Done, "at most on the CPU:", most.Load())
	// Output:
	// done: 20 at most on the CPU: 1
}

// Shutdown works off the queue for as long as it may, and returns what is left
// to those who submitted it.
func ExampleDynamicScaler_Shutdown() {
	pool, err := elastic.New(elastic.Config[string]{
		MaxWorkers: 1,
		Handler: func(ctx context.Context, _ string) error {
			<-ctx.Done() // a job that is never through, but listens
			return context.Cause(ctx)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var pools sync.WaitGroup
	pools.Go(func() { _ = pool.Run(context.Background()) })

	running, _ := pool.Enqueue(context.Background(), "running")
	for pool.Stats().Busy == 0 {
		<-time.After(time.Millisecond)
	}
	waiting, _ := pool.Enqueue(context.Background(), "waiting")

	patience, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	fmt.Println(pool.Shutdown(patience))
	fmt.Println("running:", running.Err())
	fmt.Println("waiting:", waiting.Err())
	pools.Wait()
	// Output:
	// shutdown: 1 jobs returned, 1 told to stop, 0 abandoned
	// running: pool is shutting down
	// waiting: pool is shutting down
}

// A submitter says what is urgent, what it can wait for, and what it will hold.
func ExampleDynamicScaler_Submit() {
	pool, err := elastic.New(elastic.Config[string]{
		Classes: 2, // 0 is somebody waiting, 1 is a batch
		Handler: func(ctx context.Context, name string) error {
			_, limited := ctx.Deadline()
			fmt.Println(name, "limited:", limited)
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	var pools sync.WaitGroup
	pools.Go(func() { _ = pool.Run(ctx) })

	err = pool.Submit(ctx, "thumbnail", elastic.Deadline(time.Now().Add(10*time.Second)), elastic.Weight(4<<20))
	switch {
	case errors.Is(err, elastic.ErrQueueFull), errors.Is(err, elastic.ErrWouldWait):
		fmt.Println("try again later")
	case err != nil:
		fmt.Println("failed:", err)
	}
	err = pool.Submit(ctx, "archive", elastic.Class(1))
	fmt.Println(err)
	stop()
	pools.Wait()
	// Output:
	// thumbnail limited: true
	// archive limited: false
	// <nil>
}
