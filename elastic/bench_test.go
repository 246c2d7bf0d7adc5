package elastic_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

// cpuTime is what the process has used of the CPU, in both modes.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// BenchmarkHandOff passes empty jobs to four workers and waits for each. The
// bare channel is the least that can be done with a reply. The dressed one does
// by hand what a pool is for, and no more: its workers can be stopped, survive
// a panic, see their caller's context, and the wait and the work are measured.
func BenchmarkHandOff(b *testing.B) {
	for _, producers := range []int{1, 16} {
		b.Run(fmt.Sprintf("shape=channel/producers=%d", producers), func(b *testing.B) {
			handOff(b, producers, bareChannel(b))
		})
		b.Run(fmt.Sprintf("shape=dressed/producers=%d", producers), func(b *testing.B) {
			handOff(b, producers, dressedChannel(b))
		})
		b.Run(fmt.Sprintf("shape=elastic/producers=%d", producers), func(b *testing.B) {
			handOff(b, producers, pooled(b))
		})
	}
}

func handOff(b *testing.B, producers int, submit func(context.Context) error) {
	b.Helper()
	b.ReportAllocs()
	before := cpuTime(b)
	var wg sync.WaitGroup
	b.ResetTimer()
	for part := range producers {
		jobs := b.N / producers
		if part == 0 {
			jobs += b.N % producers
		}
		wg.Go(func() {
			for range jobs {
				if err := submit(context.Background()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

func bareChannel(b *testing.B) func(context.Context) error {
	b.Helper()
	type job struct{ reply chan error }
	queue := make(chan job, 1024)
	replies := sync.Pool{New: func() any { return make(chan error, 1) }}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for j := range queue {
				j.reply <- nil
			}
		})
	}
	b.Cleanup(func() { close(queue); wg.Wait() })
	return func(context.Context) error {
		reply, _ := replies.Get().(chan error)
		queue <- job{reply}
		err := <-reply
		replies.Put(reply)
		return err
	}
}

// dressedJob is what a dressed channel carries.
type dressedJob struct {
	ctx    context.Context //nolint:containedctx // a queued job carries its caller's context
	queued time.Time
	reply  chan error
}

func dressedChannel(b *testing.B) func(context.Context) error {
	b.Helper()
	queue, stop := make(chan *dressedJob, 1024), make(chan struct{})
	replies := sync.Pool{New: func() any { return make(chan error, 1) }}
	var waited, worked atomic.Int64
	perform := func(j *dressedJob) (err error) {
		began := time.Now()
		waited.Add(int64(began.Sub(j.queued)))
		ctx, cancel := context.WithCancelCause(j.ctx) // so that shutdown can end it
		defer func() {
			cancel(nil)
			worked.Add(int64(time.Since(began)))
			if r := recover(); r != nil {
				err = fmt.Errorf("panic: %v", r)
			}
		}()
		return ctx.Err()
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case j := <-queue:
					j.reply <- perform(j)
				}
			}
		})
	}
	b.Cleanup(func() { close(stop); wg.Wait() })
	return func(ctx context.Context) error {
		reply, _ := replies.Get().(chan error)
		queue <- &dressedJob{ctx, time.Now(), reply}
		err := <-reply
		replies.Put(reply)
		return err
	}
}

// BenchmarkRetire asks an idle worker to leave and waits until its slot is
// free, then has another made.
func BenchmarkRetire(b *testing.B) {
	p, err := elastic.New(elastic.Config[int]{
		MinWorkers: 2, MaxWorkers: 2, Handler: func(context.Context, int) error { return nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-done })
	until := func(total int) {
		for p.Stats().Total != total {
			runtime.Gosched()
		}
	}
	until(2)
	for b.Loop() {
		_ = p.SetLimits(1, 1)
		until(1)
		b.StopTimer()
		_ = p.SetLimits(2, 2)
		until(2)
		b.StartTimer()
	}
}

func pooled(b *testing.B) func(context.Context) error {
	b.Helper()
	return submitting(b, elastic.Config[int]{
		MinWorkers: 4, MaxWorkers: 4,
		Handler: func(context.Context, int) error { return nil },
	})
}

// submitting runs a pool for the time of the benchmark.
func submitting(b *testing.B, config elastic.Config[int]) func(context.Context) error {
	b.Helper()
	p, err := elastic.New(config)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return func(ctx context.Context) error { return p.Submit(ctx, 1) }
}

// BenchmarkEnterCPU marks CPU stages, which nobody else wants, in jobs that do
// nothing else; without a stage a job costs what handing it over costs.
func BenchmarkEnterCPU(b *testing.B) {
	for _, stages := range []int{0, 1, 4} {
		b.Run(fmt.Sprintf("stages=%d", stages), func(b *testing.B) {
			gate, err := elastic.NewGate(elastic.GateConfig{Slots: 4, Memory: 1 << 30})
			if err != nil {
				b.Fatal(err)
			}
			handOff(b, 1, submitting(b, elastic.Config[int]{Gate: gate, Handler: func(ctx context.Context, _ int) error {
				for range stages {
					leave, err := elastic.EnterCPU(ctx, 1<<20)
					if err != nil {
						return err
					}
					leave()
				}
				return nil
			}}))
		})
	}
}
