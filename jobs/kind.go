package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Kind is what is known of a job type where it is asked for; the Handler, which
// does the work, need not be in the same process.
type Kind struct {
	Type, Queue string
	Priority    int
	// WorkLimit is that of jobs that name none; 0 is an hour.
	WorkLimit time.Duration
	// Checkpointable types go on where a lost attempt stopped.
	Checkpointable bool
	// Check refuses, with a *SpecError, an input or params that no handler
	// could use, and may fill in EstimatedSeconds. nil takes anything.
	Check func(*Spec) error
}

// Kinds are those of a program by Type.
type Kinds map[string]Kind

// NewKinds makes them of a list.
func NewKinds(list ...Kind) Kinds {
	kinds := make(Kinds, len(list))
	for _, k := range list {
		kinds[k.Type] = k
	}
	return kinds
}

// Types lists them in order.
func (k Kinds) Types() []string { return slices.Sorted(maps.Keys(k)) }

// Need is what a job takes of the machine while it works.
type Need struct {
	// Memory is what its heaviest part holds, in bytes.
	Memory int64
	// CPU says that it computes. A job that only waits for others needs a
	// slot of the worker, but no core.
	CPU bool
}

// Handler does jobs of one type. It is used by many goroutines.
type Handler interface {
	// Need is asked before Do; it must be quick.
	Need(job *Job) Need
	// Do does the job and gives its result, a JSON object or nil. ctx ends,
	// with a cause, when the job is cancelled, at its WorkLimit, when the
	// worker's time to drain is over and when its lease is lost; Do must then
	// return soon, and end processes it has started. An error may be a *Failure.
	// What it writes outside of the task must be safe to be written twice: the
	// lease may be lost at any moment (see Task.Fence).
	Do(ctx context.Context, task *Task) (json.RawMessage, error)
}

// Host is what a Task reaches its worker by.
type Host interface {
	Report(Progress)
	SaveCheckpoints(ctx context.Context, parts []Checkpoint) error
	Checkpoints(ctx context.Context, after string, limit int) ([]Checkpoint, error)
	Fence() error
}

// Task is a job in the hands of its Handler.
type Task struct {
	Job  Job
	host Host
}

// NewTask is for workers and tests of handlers.
func NewTask(job Job, host Host) *Task { return &Task{Job: job, host: host} }

// Report tells how far the work is. It is cheap: what is reported is written
// about once a second.
func (t *Task) Report(p Progress) { t.host.Report(p) }

// Fence is nil as long as the lease surely holds: less time has passed on the
// machine's monotonic clock, which a stopped process does not stop, than the
// lease was granted for. Ask it right before a write that others will see; it
// answers ErrLeaseLost otherwise.
func (t *Task) Fence() error { return t.host.Fence() }

// Save stores that a part is done, under the lease: with ErrLeaseLost the work
// belongs to another. Write what the part made first, and its row second.
func (t *Task) Save(ctx context.Context, key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode checkpoint: %w", err)
	}
	return t.SaveAll(ctx, []Checkpoint{{Key: key, Value: raw}})
}

// SaveAll stores several parts in one transaction.
func (t *Task) SaveAll(ctx context.Context, parts []Checkpoint) error {
	return t.host.SaveCheckpoints(ctx, parts)
}

// pageSize is how many checkpoints are read at a time.
const pageSize = 1000

// Saved reads every part that this or an earlier attempt has saved, in the
// order of their keys.
func (t *Task) Saved(ctx context.Context) ([]Checkpoint, error) {
	var all []Checkpoint
	after := ""
	for {
		page, err := t.host.Checkpoints(ctx, after, pageSize)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < pageSize {
			return all, nil
		}
		after = page[len(page)-1].Key
	}
}
