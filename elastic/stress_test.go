package elastic_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

// stressed is a job that counts what happens to it.
type stressed struct {
	seed     uint64
	began    atomic.Int32
	outcomes atomic.Int32
}

// errOrdinary is what some jobs return.
var errOrdinary = errors.New("ordinary failure")

func (s *stressed) do(ctx context.Context) error {
	s.began.Add(1)
	switch r := s.seed % 100; {
	case r < 3:
		panic("random")
	case r < 4:
		return fmt.Errorf("worn out: %w", elastic.ErrReplaceWorker)
	case r < 5:
		runtime.Goexit()
	case r < 8:
		return errOrdinary
	case r < 20:
		leave, err := elastic.EnterCPU(ctx, int64(r))
		if err != nil {
			return err
		}
		defer leave()
		runtime.Gosched()
	case r < 22: // waits for its caller to leave, for a while
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(s.seed%1000) * time.Microsecond):
		}
	}
	return nil
}

// judge checks one outcome against what the job saw.
func (s *stressed) judge(t *testing.T, err error) {
	s.outcomes.Add(1)
	began := s.began.Load()
	refused := errors.Is(err, elastic.ErrQueueFull) || errors.Is(err, elastic.ErrWithdrawn) || errors.Is(err, elastic.ErrWouldWait)
	switch {
	case began > 1:
		t.Errorf("a job ran %d times", began)
	case err == nil && began != 1:
		t.Error("a job is done and never ran")
	case refused && began != 0:
		t.Errorf("a job ran and its caller was told %v", err)
	}
}

// submitter submits its part of the jobs in every way there is.
func submitter(t *testing.T, p *elastic.DynamicScaler[*stressed], jobs []stressed, random *rand.Rand) {
	background := context.Background()
	for i := range jobs {
		s := &jobs[i]
		s.seed = random.Uint64()
		class := elastic.Class(random.IntN(3))
		switch way := random.IntN(10); {
		case way < 4:
			s.judge(t, p.Submit(background, s, class))
		case way < 6:
			ctx, cancel := context.WithTimeout(background, time.Duration(random.IntN(2000))*time.Microsecond)
			s.judge(t, p.Submit(ctx, s, class))
			cancel()
		case way < 7:
			at := time.Now().Add(time.Duration(random.IntN(2000)) * time.Microsecond)
			s.judge(t, p.Submit(background, s, class, elastic.Deadline(at)))
		default:
			ctx, cancel := context.WithCancel(background)
			ticket, err := p.Enqueue(ctx, s, class, elastic.Weight(int64(random.IntN(50))))
			if err == nil {
				switch random.IntN(3) {
				case 0:
					ticket.Withdraw()
				case 1:
					cancel()
				}
				err = ticket.Wait(background)
			}
			cancel()
			s.judge(t, err)
		}
	}
}

// TestEveryJobEndsExactlyOnce runs pools under random panics, exits, cancels,
// deadlines, withdrawals, resizes and shutdowns.
func TestEveryJobEndsExactlyOnce(t *testing.T) {
	total, rounds := 100_000, 20
	if os.Getenv("SPILLWAY_HEAVY") == "1" {
		total, rounds = 1_000_000, 100
	}
	before := runtime.NumGoroutine()
	for round := range rounds {
		stressRound(t, total/rounds, uint64(round))
		if t.Failed() {
			return
		}
	}
	for range 1000 { // goroutines that have returned are not gone at once
		if runtime.NumGoroutine() <= before {
			return
		}
		pass(time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

const stressMost = 8

func stressRound(t *testing.T, total int, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	gate := newGate(t, elastic.GateConfig{Slots: 2, Memory: 100})
	p, err := elastic.New(elastic.Config[*stressed]{
		Handler:    func(ctx context.Context, s *stressed) error { return s.do(ctx) },
		MaxWorkers: stressMost, QueueSize: 64, Classes: 3, Ageing: time.Millisecond, Gate: gate,
		CheckInterval: time.Millisecond, ScaleCooldown: time.Duration(random.IntN(3)) * time.Millisecond,
		TargetWait: 100 * time.Microsecond, RetireGrace: 5 * time.Second, Signal: elastic.Signal(random.IntN(3)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(context.Background()) }()

	jobs := make([]stressed, total)
	stop := make(chan struct{})
	var submitters, resizer sync.WaitGroup
	const parts = 16
	for part := range parts {
		own := rand.New(rand.NewPCG(seed, uint64(part)+2))
		submitters.Go(func() { submitter(t, p, jobs[part*total/parts:(part+1)*total/parts], own) })
	}
	resizer.Go(func() { resize(t, p, stop, random) })
	// Every other round is shut down in the middle, with or without patience.
	if seed%2 == 1 {
		for p.Stats().Arrived < uint64(total)/4 {
			pass(100 * time.Microsecond)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seed%4)*time.Millisecond)
		_ = p.Shutdown(ctx)
		cancel()
	}
	submitters.Wait()
	close(stop)
	resizer.Wait()
	_ = p.Shutdown(context.Background())
	<-ended
	checkRound(t, p, gate, jobs)
}

func resize(t *testing.T, p *elastic.DynamicScaler[*stressed], stop chan struct{}, random *rand.Rand) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(random.IntN(500)) * time.Microsecond):
		}
		most := 1 + random.IntN(stressMost)
		if err := p.SetLimits(1+random.IntN(most), most); err != nil {
			t.Error(err)
		}
		if s := p.Stats(); s.Total > stressMost {
			t.Errorf("%d workers exist, of %d", s.Total, stressMost)
		}
	}
}

func checkRound(t *testing.T, p *elastic.DynamicScaler[*stressed], gate *elastic.Gate, jobs []stressed) {
	t.Helper()
	var began uint64
	for i := range jobs {
		if n := jobs[i].outcomes.Load(); n != 1 {
			t.Fatalf("a job had %d outcomes", n)
		}
		if n := jobs[i].began.Load(); n > 1 {
			t.Fatalf("a job ran %d times", n)
		}
		began += uint64(jobs[i].began.Load())
	}
	s := p.Stats()
	if s.Total != 0 || s.Queued != 0 || s.Busy != 0 || s.Arrived != s.Done+s.Failed+s.Returned || began > s.Done+s.Failed {
		t.Errorf("the books do not balance: %d began, %+v", began, s)
	}
	if g := gate.Stats(); g.Running != 0 || g.Held != 0 || g.Waiting != 0 || len(g.Members) != 0 {
		t.Errorf("the gate is left with %+v", g)
	}
}
