package derive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/jobs"
)

// bulkHandler does bulk.derive.
type bulkHandler struct{ cfg Config }

// Need implements jobs.Handler. What is computed waits for its turn in the
// transform service.
func (h *bulkHandler) Need(job *jobs.Job) jobs.Need {
	p := struct{ Concurrency int64 }{defaultConcurrency}
	if json.Unmarshal(job.Params, &p) != nil {
		return jobs.Need{} // Do will say why
	}
	return jobs.Need{Memory: min(max(p.Concurrency, 1), maxConcurrency) * pictureMemory}
}

// Do implements jobs.Handler.
func (h *bulkHandler) Do(ctx context.Context, task *jobs.Task) (json.RawMessage, error) {
	params, err := readBulk(task.Job.Params, h.cfg.Limits)
	if err != nil {
		return nil, unreadable(err)
	}
	if params.into == intoCache && h.cfg.Warmer == nil {
		return nil, &jobs.Failure{Code: string(media.CodeInvalidParameter), Permanent: true,
			Reason: "This worker knows no image server whose cache it could fill; set cache-url, or in up a cache of its own."}
	}
	b := &bulk{cfg: h.cfg, task: task, params: params, maker: h.cfg.maker(task)}
	if err := b.resume(ctx); err != nil {
		return nil, failure(ctx, err)
	}
	worked := b.work(ctx)
	if worked != nil && !b.tooMany() {
		return nil, failure(ctx, worked)
	}
	raw, err := b.conclude(ctx)
	return raw, failure(ctx, err)
}

// bulk is one attempt at a bulk job. What is not immutable belongs to the
// goroutine of Do.
type bulk struct {
	cfg    Config
	task   *jobs.Task
	params bulkParams
	maker  maker

	names   []string // of all inputs, the same in every attempt
	skipped int      // what lies below the prefix and is no picture
	resumed int      // done by earlier attempts

	done   map[int]json.RawMessage // by index: what their checkpoints hold
	failed []item
	lost   int // of failed, those that trying again will not change
	unsent []jobs.Checkpoint
}

// item is what became of one input: a line of the report, and when it is done
// the value of its checkpoint.
type item struct {
	Index   int      `json:"index"`
	Input   string   `json:"input"`
	Outputs []Output `json:"outputs,omitempty"`
	Code    string   `json:"code,omitempty"`
	Reason  string   `json:"reason,omitempty"`

	lasting bool
}

const (
	// batchSize and batchTime bound how many items may be done and not yet
	// saved: what is done twice when the worker dies.
	batchSize = 16
	batchTime = 500 * time.Millisecond
	// saveTime is for the last batch of an attempt that has to stop.
	saveTime = 5 * time.Second
)

// errStop ends the work without an error of its own: too many items failed.
var errStop = errors.New("too many items failed")

// work does what is not done yet.
func (b *bulk) work(ctx context.Context) error {
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	todo, finished := make(chan int), make(chan result)
	go feed(run, b.undone(), todo)
	var workers sync.WaitGroup
	for range b.params.concurrency {
		workers.Go(func() {
			for i := range todo {
				made, err := b.one(run, i)
				finished <- result{made, err}
			}
		})
	}
	go func() {
		workers.Wait()
		close(finished)
	}()
	if err := b.collect(ctx, stop, finished); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // nobody was at work when it ended
	}
	return nil
}

// result is what a worker tells; err ends the whole attempt.
type result struct {
	item
	err error
}

// undone lists what is left to do.
func (b *bulk) undone() (indexes []int) {
	for i := range b.names {
		if b.done[i] == nil {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// feed ends with its context, and then the workers do.
func feed(ctx context.Context, indexes []int, todo chan<- int) {
	defer close(todo)
	for _, i := range indexes {
		select {
		case todo <- i:
		case <-ctx.Done():
			return
		}
	}
}

// collect takes in what is finished until all workers have ended, and saves it
// in batches. The first fault stops them.
func (b *bulk) collect(ctx context.Context, stop context.CancelCauseFunc, finished <-chan result) error {
	var first error
	fail := func(err error) {
		if err != nil && first == nil {
			first = err
			stop(err)
		}
	}
	timer := time.NewTicker(batchTime)
	defer timer.Stop()
	for {
		select {
		case r, open := <-finished:
			if !open {
				fail(b.saveLast(ctx, first))
				return first
			}
			fail(r.err)
			if r.err == nil {
				fail(b.take(ctx, r.item))
			}
		case <-timer.C:
			if first == nil {
				fail(b.save(ctx))
			}
		}
	}
}

// take notes one item.
func (b *bulk) take(ctx context.Context, i item) error {
	if i.Code != "" {
		b.failed = append(b.failed, i)
		if i.lasting {
			b.lost++
		}
		b.report()
		if b.tooMany() {
			return errStop
		}
		return nil
	}
	raw, err := encode(i)
	if err != nil {
		return err
	}
	b.done[i.Index] = raw
	b.unsent = append(b.unsent, jobs.Checkpoint{Key: itemKey(i.Index, i.Input), Value: raw})
	b.report()
	if len(b.unsent) >= batchSize {
		return b.save(ctx)
	}
	return nil
}

// save stores rows of items whose outputs are stored.
func (b *bulk) save(ctx context.Context) error {
	if len(b.unsent) == 0 {
		return nil
	}
	if err := b.task.SaveAll(ctx, b.unsent); err != nil {
		return fmt.Errorf("save checkpoints: %w", err)
	}
	b.unsent = nil
	return nil
}

// saveLast keeps what is done when the attempt has to stop: on a drain the
// lease still holds, and the next worker need not do it again.
func (b *bulk) saveLast(ctx context.Context, why error) error {
	if why != nil && b.task.Fence() != nil {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer stop()
	return b.save(ctx)
}

func (b *bulk) report() {
	p := jobs.Progress{Done: int64(len(b.done)), Total: int64(len(b.names))}
	if len(b.failed) > 0 {
		p.Note = fmt.Sprintf("%d failed", len(b.failed))
	}
	b.task.Report(p)
}

// tooMany says that the job has failed whatever else comes.
func (b *bulk) tooMany() bool { return b.lost > b.params.failures(len(b.names)) }
