package jobs

import (
	"context"
	"errors"
	"time"
)

// What a store answers, besides faults of its own.
var (
	// ErrNotFound means that there is no such row, or none any more.
	ErrNotFound = errors.New("not found")
	// ErrLeaseLost refuses a change by who does not hold the lease any more.
	// Whoever gets it stops silently: the job is somebody else's, or over.
	ErrLeaseLost = errors.New("lease lost")
	// ErrState refuses a change that the job's state does not allow.
	ErrState = errors.New("state does not allow it")
	// ErrUnavailable wraps what a store's server, not the request, was at fault for.
	ErrUnavailable = errors.New("job store unavailable")
)

// Store is all that durable jobs need of a database. Every method is one
// transaction, durable when it returns nil, and safe for concurrent use. Only
// Claim and Beat need not be durable: what a crash undoes of them gives the job
// to another, and the token refuses the first.
// Durations are parameters; the moments they count from are the database's.
type Store interface { //nolint:interfacebloat // the sum of the roles, for who wires them; each user asks for its own
	EnqueueStore
	ClaimStore
	FinishStore
	RescueStore
	KeepStore
	ControlStore
	QueryStore
	WorkerStore
	WebhookStore
	Elector
	Close() error
}

// Enqueued is what became of one Spec.
type Enqueued struct {
	Job Job
	// Existing is true when an earlier job has the key of this one.
	Existing bool
}

// EnqueueStore takes jobs in.
type EnqueueStore interface {
	// Enqueue inserts all or none. Specs are complete and valid (Client sees
	// to that). Fair tags are given here: see FairTag.
	Enqueue(ctx context.Context, specs []Spec) ([]Enqueued, error)
}

// Lease is the right to change a running job.
type Lease struct {
	ID    ID
	Token string
}

// Claim says what a worker could take.
type Claim struct {
	WorkerID string
	Queues   []string
	// N is how many at most; the worker has a slot for each.
	N     int
	Lease time.Duration
	// Market bounds what may be taken: see Allowed.
	Market Market
	// MaxRank is the highest rank that may be taken; 0 all, less than 0 none.
	MaxRank int
	// Alone says that the worker holds no job. Only then is it given a suspect,
	// which then goes before all else and comes as the only one.
	Alone bool
}

// Pulse is the sign of life of one running job.
type Pulse struct {
	Lease
	Progress *Progress // nil leaves it as it is
}

// Signals is what a worker is told.
type Signals struct {
	Status WorkerStatus
	// DrainIn is what is left of the time to drain, by the database's clock.
	DrainIn time.Duration
	// Cancel lists jobs of this worker that are to stop.
	Cancel []ID
	// Suspect says that a suspect is ready in a queue of this worker, for its
	// market: somebody has to become free of other jobs for it.
	Suspect bool
	// MaxRank is the highest rank that a scheduler lets it claim; 0 all, less
	// than 0 none: it is parked.
	MaxRank int
}

// ClaimStore hands jobs to workers.
type ClaimStore interface {
	// Claim takes up to N ready jobs, each time from the queue whose head has
	// the lowest (rank, fair tag, id), so that what is taken is also lowest over
	// all the queues, and is listed in that order. A worker that is not active gets nothing. Each claimed job is
	// running, has a new token, a lease until now + Lease, one delivery more,
	// and an attempt row. None ready is an empty list and no error.
	Claim(ctx context.Context, c Claim) ([]Job, error)
	// Beat extends the leases of one worker's jobs by one statement, also of
	// those whose time has run out but that nobody has rescued yet, writes
	// their progress, and marks the worker as alive with current_jobs the
	// number of pulses that hold. The result lists leases that are lost.
	Beat(ctx context.Context, workerID string, lease time.Duration, pulses []Pulse) (lost []ID, err error)
	// Signals is cheap: a worker asks every second or two.
	Signals(ctx context.Context, workerID string) (Signals, error)
	// SaveCheckpoints stores parts under the lease; keys that exist stay.
	SaveCheckpoints(ctx context.Context, l Lease, parts []Checkpoint) error
	// Checkpoints pages through a job's parts in the order of their keys.
	Checkpoints(ctx context.Context, id ID, after string, limit int) ([]Checkpoint, error)
}

// FinishStore ends attempts.
type FinishStore interface {
	// Finish carries out o for a job that is running under l: ErrLeaseLost
	// when it is not. The attempt row ends with it, the worker's
	// last_job_completed_at is set, and a webhook is put down, in one
	// transaction. A job whose cancel was asked is never queued again: it
	// becomes Cancelled instead. Finish is the only way out of Running but Rescue
	// and Cancel of an orphan.
	Finish(ctx context.Context, l Lease, o Outcome) error
}

// Moved is one job that maintenance changed.
type Moved struct {
	ID    ID
	Queue string
	State State
	Ready bool // queued and eligible now: the bell is to be rung
}

// RescueStore repairs what died. Any number of processes may call it at once;
// every change is guarded by the state and token it was decided on.
type RescueStore interface {
	// Expired lists running jobs, oldest first, whose lease has run out or
	// that have none. It starts from the running jobs, not from leases.
	Expired(ctx context.Context, limit int) ([]Job, error)
	// Rescue carries out o when the job is still running under l (an empty
	// token stands for none) and its lease is over; false when something came
	// first. A job whose cancel was asked becomes Cancelled.
	Rescue(ctx context.Context, l Lease, o Outcome) (bool, error)
	// Promote makes delayed jobs ready whose time has come, those first that
	// have been due the longest.
	Promote(ctx context.Context, limit int) ([]Moved, error)
	// GiveUp fails jobs that have been ready for longer than their WaitLimit.
	GiveUp(ctx context.Context, limit int) ([]Moved, error)
}

// Retention is how long finished jobs are kept.
type Retention struct{ Succeeded, Failed, Cancelled time.Duration }

// KeepStore is housekeeping, in steps so small that no claim waits for it.
type KeepStore interface {
	// Age lowers by one the rank of jobs of priority 4 to 10 (never below 4)
	// for every `every` that they have been ready.
	Age(ctx context.Context, every time.Duration, limit int) (int, error)
	// Prune deletes up to limit finished jobs with all that belongs to them,
	// metrics older than a day, and workers terminated for longer than
	// keep.Failed. It answers the number of jobs.
	Prune(ctx context.Context, keep Retention, limit int) (int, error)
	// BuryWorkers does what Leave does to workers that were silent for longer
	// than after.
	BuryWorkers(ctx context.Context, after time.Duration) ([]string, error)
}

// ControlStore is what people and schedulers ask for.
type ControlStore interface {
	// Cancel ends a queued job, or a running one whose lease is over, at once;
	// any other running one is asked to stop (CancelAsked). Cancelling what
	// was cancelled changes nothing; ErrState for succeeded and failed jobs.
	Cancel(ctx context.Context, id ID, reason string) (Job, error)
	// Retry queues a failed or cancelled job anew with fresh budgets; its
	// checkpoints stay, and its deliveries go on counting. ErrState for others,
	// and when its unique key is a later job's by now.
	Retry(ctx context.Context, id ID) (Job, error)
	// Drain asks a worker to take no more jobs and to be done within the time. A
	// deadline that it has already is brought forward by that, and never put off.
	// ErrNotFound, or ErrState when it is terminated.
	Drain(ctx context.Context, workerID string, within time.Duration) error
	// Undrain lets it take jobs again. ErrState when it is terminated, or on a
	// scheduler's machine that is being ended.
	Undrain(ctx context.Context, workerID string) error
}

// Filter chooses jobs; zero values choose all.
type Filter struct {
	State  State
	Queue  string
	Type   string
	Tenant string
	Before ID  // older than this one: the cursor
	Limit  int // 1 to 200 (50)
}

// QueueStats is one queue, counted now.
type QueueStats struct {
	Queue string
	// Depth is how many jobs are ready, Delayed how many are queued for later.
	// More is true when counting stopped at the bound that was given.
	Depth, Delayed, Running int64
	More                    bool
	// OldestAge is how long the job has waited that became ready first, and
	// OldestInteractive the same of priorities 1 to 3; 0 when there is none.
	OldestAge, OldestInteractive time.Duration
	// Priorities is the depth by rank, index 0 for rank 1.
	Priorities [LowestPriority]int64
}

// QueryStore answers questions. None of them counts without a bound.
type QueryStore interface {
	Job(ctx context.Context, id ID) (Job, error)
	// Jobs lists newest first.
	Jobs(ctx context.Context, f Filter) ([]Job, error)
	Attempts(ctx context.Context, id ID) ([]Attempt, error)
	// Queues counts every queue that has jobs which are not final, up to most each.
	Queues(ctx context.Context, most int) ([]QueueStats, error)
	// Versions tells the versions of those of the jobs that exist.
	Versions(ctx context.Context, ids []ID) (map[ID]int64, error)
}

// WorkerStore holds workers.
type WorkerStore interface {
	// Register inserts the worker, or takes over the row of that id that a
	// scheduler provisioned, as active. How its machine is paid for stays as the
	// scheduler wrote it, and so does a drain.
	Register(ctx context.Context, w WorkerRow) error
	// Record stores a metric; At is the database's.
	Record(ctx context.Context, workerID string, m WorkerMetric) error
	// Leave marks it as terminated, or as draining when a scheduler has started
	// its machine, which is there until the scheduler has seen it gone. What it
	// still holds runs out.
	Leave(ctx context.Context, workerID string) error
	// Workers lists those not terminated; with all, the latest 200 terminated ones too.
	Workers(ctx context.Context, all bool) ([]WorkerRow, error)
}

// Webhook is one notice that is due. What it says is made when it is sent, of
// the job as it is then.
type Webhook struct {
	JobID    ID
	URL      string
	Attempts int // made before
	// Until is the end of its hold, by which WebhookDone knows it again.
	Until time.Time
}

// WebhookStore is the outbox of notices.
type WebhookStore interface {
	// DueWebhooks takes up to limit notices and puts each off by hold, so that
	// no other process sends it meanwhile.
	DueWebhooks(ctx context.Context, limit int, hold time.Duration) ([]Webhook, error)
	// WebhookDone ends a notice: sent, or given up with a failure; or, with
	// again > 0, puts it off and counts an attempt.
	// It changes nothing when the notice is another by now: the job was tried
	// again and has ended anew, or the hold was over and somebody else has it.
	WebhookDone(ctx context.Context, w Webhook, failure string, again time.Duration) error
}

// Election is won until it is released or lost.
type Election interface {
	// Held is nil while the election still holds.
	Held(ctx context.Context) error
	Release()
}

// Elector makes one process of many the one that does something.
type Elector interface {
	// Elect tries once and does not wait; nil and no error when another holds it.
	Elect(ctx context.Context, name string) (Election, error)
}
