package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

// WorkerSide is what a Worker needs of a store.
type WorkerSide interface {
	ClaimStore
	FinishStore
	WorkerStore
	// Drain is that of ControlStore: a worker says by it that it drains.
	Drain(ctx context.Context, workerID string, within time.Duration) error
}

// Worker claims jobs of its queues, runs their handlers, and ends them. One
// process has one. NewWorker makes it, Run is its life; the other methods are
// safe for concurrent use, before Run and after it, too.
type Worker struct {
	cfg   WorkerConfig // with defaults; never changes
	store WorkerSide
	bell  Doorbell
	log   *slog.Logger
	pool  *elastic.DynamicScaler[*delivery]

	roomy chan struct{} // has the claim loop look again
	moved chan struct{} // has Run look again
	tell  chan struct{} // has the signal loop tell of a drain

	mu       sync.Mutex
	ran      bool
	held     map[*delivery]struct{} // claimed and not yet ended
	needs    map[string]int64       // memory that the latest job of each type asked for
	drainage drainage
	seclude  seclusion
	maxRank  int                // of what may be claimed; 0 all, less than 0 none
	narrowed bool               // claims leave queues out until a slot is free,
	freed    bool               // and one became free since that was found
	claiming bool               // a claim is on its way
	hush     context.CancelFunc // ends the wait for the bell; nil: nobody waits
	tally    tally
}

// NewWorker checks the configuration and starts nothing.
func NewWorker(cfg WorkerConfig, store WorkerSide, bell Doorbell, log *slog.Logger) (*Worker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	w := &Worker{
		cfg: cfg, store: store, bell: bell, log: log.With("worker_id", cfg.Row.ID),
		roomy: make(chan struct{}, 1), moved: make(chan struct{}, 1), tell: make(chan struct{}, 1),
		held: map[*delivery]struct{}{}, needs: map[string]int64{},
		tally: tally{condition: WorkerStarting},
	}
	// The pool's own signal would see an empty queue, because nothing is
	// claimed that has no slot. What is in flight is its floor instead
	// (resize), which it fills at once; the depth of the queues becomes in
	// flight by claims. Idle goroutines go after KeepIdle.
	w.pool, err = elastic.New(elastic.Config[*delivery]{
		Name: poolName, Handler: w.perform, MaxWorkers: cfg.Slots, QueueSize: 2 * cfg.Slots,
		CheckInterval: time.Second, Gate: cfg.Gate,
	})
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	return w, nil
}

// poolName is the worker's place at the gate.
const poolName = "jobs"

// ID is the worker's.
func (w *Worker) ID() string { return w.cfg.Row.ID }

// Run registers the worker and works until ctx ends, or until somebody drains
// it. It returns when its jobs have ended or were released, after it has marked
// the worker as gone; nil, unless so many handlers do not return that only a
// new process helps. It waits for every goroutine but those of such handlers.
func (w *Worker) Run(ctx context.Context) error {
	if !w.first() {
		return errors.New("work: the worker has been run before")
	}
	if !w.register(ctx) {
		return nil
	}
	base := context.WithoutCancel(ctx)
	looping, stop := context.WithCancel(base)
	defer stop()
	var running sync.WaitGroup
	var poolEnd error
	running.Go(func() { poolEnd = w.pool.Run(base) })
	for _, loop := range []func(context.Context){w.claimLoop, w.beatLoop, w.signalLoop, w.recordLoop} {
		running.Go(func() { loop(looping) })
	}
	err := w.untilDrained(ctx)
	stop()
	shut := w.pool.Shutdown(base)
	running.Wait()
	w.leave(base)
	if err == nil && (shut != nil || poolEnd != nil) {
		err = fmt.Errorf("work: %w", shut)
	}
	return err
}

// first is true once: a life is not lived twice.
func (w *Worker) first() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.ran
	w.ran = true
	return first
}

// nudge is a message in a channel of one, which says "look again".
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// poke has both loops look again: the one for room, the other for the end.
func (w *Worker) poke() {
	nudge(w.roomy)
	nudge(w.moved)
}

// pause waits for a while, for room, or for the end of ctx.
func (w *Worker) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-w.roomy:
	}
}

// hold and drop keep the list of what is in flight.
func (w *Worker) hold(d *delivery) {
	w.mu.Lock()
	w.held[d] = struct{}{}
	w.mu.Unlock()
}

func (w *Worker) drop(d *delivery) {
	d.lease.end()
	w.mu.Lock()
	delete(w.held, d)
	w.freed = true
	hush := w.hush
	if !w.narrowed {
		hush = nil
	}
	w.mu.Unlock()
	if hush != nil {
		hush() // it waits for some of its queues only
	}
	w.poke()
}

// deliveries are those in flight now.
func (w *Worker) deliveries() []*delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*delivery, 0, len(w.held))
	for d := range w.held {
		all = append(all, d)
	}
	return all
}

// resize makes what is in flight the floor of the pool, so that no claimed job
// waits for it to grow.
func (w *Worker) resize() {
	w.mu.Lock()
	floor := min(max(1, len(w.held)), w.cfg.Slots)
	w.mu.Unlock()
	_ = w.pool.SetLimits(floor, w.cfg.Slots) // 1 <= floor <= Slots
}
