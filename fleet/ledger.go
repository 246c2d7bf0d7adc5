package fleet

import (
	"context"
	"errors"
	"time"
)

// What stores answer.
var (
	// ErrNotFound means that there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrState refuses a change that the row's status does not allow.
	ErrState = errors.New("status does not allow it")
)

// Demand is what waits.
type Demand interface {
	// Demand counts the queues by the database. Depth and Source are the rows',
	// and counting stops nowhere: a count that is cut off would hide a backlog.
	Demand(ctx context.Context, queues []string) (at time.Time, states []QueueState, err error)
}

// Depths asks the doorbell: LLEN of each queue. A queue that it has never heard
// of is 0.
type Depths interface {
	Depths(ctx context.Context, queues []string) (map[string]int64, error)
}

// Rows is the workers table, as far as machines go. Each method is one
// transaction and idempotent.
type Rows interface {
	// Fleet lists the workers that are not terminated.
	Fleet(ctx context.Context) ([]Worker, error)
	// Provision inserts a row for a machine that will be asked for.
	Provision(ctx context.Context, w Worker) error
	// Attach writes what the provider answered: instance, place, launch time,
	// and the money, which may be another candidate's than the row was made for.
	Attach(ctx context.Context, workerID string, m Machine, o Offer) error
	// Terminating notes when the provider was first asked to end it.
	Terminating(ctx context.Context, workerID string) error
	// Gone marks it as terminated at a time and gives the jobs back that it
	// still holds: each once, without burning an attempt.
	Gone(ctx context.Context, workerID string, at time.Time) (requeued []int64, err error)
}

// Drains asks workers to stop claiming; jobs.ControlStore has the same.
type Drains interface {
	// Drain sets the deadline, or brings it forward: a later one changes nothing.
	Drain(ctx context.Context, workerID string, within time.Duration) error
	Undrain(ctx context.Context, workerID string) error
	// Restrict bounds what it may claim to priorities up to maxRank; 0 all.
	Restrict(ctx context.Context, workerID string, maxRank int) error
}

// SpendKind is why money was booked.
type SpendKind string

// The kinds of entries.
const (
	SpendAccrual    SpendKind = "accrual"    // time that a machine was there
	SpendMinimum    SpendKind = "minimum"    // up to the least time that is paid for
	SpendCorrection SpendKind = "correction" // what the provider's inventory says otherwise; may be negative
)

// SpendEntry is a row of spend_entries.
type SpendEntry struct {
	ID       int64     `json:"id"`
	At       time.Time `json:"at"`
	WorkerID string    `json:"worker_id"`
	Place
	Queue  string    `json:"queue"`
	Kind   SpendKind `json:"kind"`
	From   time.Time `json:"from"`
	Until  time.Time `json:"until"`
	Amount Money     `json:"amount_ten_thousandths_of_cent"`
	Note   string    `json:"note,omitempty"`
}

// Record is all that a tick leaves behind, written in one transaction.
type Record struct {
	Decisions []Decision
	Entries   []SpendEntry // AccruedUntil of their workers becomes the latest Until of accruals
	Memory    *Memory      // nil leaves it
	Answered  []string     // requests that are done with
}

// State is what the store keeps for the scheduler (scheduler_state).
type State struct {
	FleetID  string // made by the store the first time
	Memory   Memory
	Latch    *Latch
	Requests []Request
	Ticked   time.Time // when the last Record was written
}

// Ledger is the scheduler's own tables.
type Ledger interface {
	State(ctx context.Context) (State, error)
	Record(ctx context.Context, r Record) error
	// Trip sets the latch and answers it; one that is set already stays.
	Trip(ctx context.Context, l Latch) error
	// Reset clears it and answers what it was; nil none. The day's spending stays.
	Reset(ctx context.Context) (*Latch, error)
	// Spent sums entries between two times, those across an edge by their share.
	Spent(ctx context.Context, from, until time.Time) (Money, error)
}

// Desk takes what operators ask for, and shows what was decided.
type Desk interface {
	Ask(ctx context.Context, r Request) error
	// Decisions lists newest first.
	Decisions(ctx context.Context, f DecisionFilter) ([]Decision, error)
	Decision(ctx context.Context, id string) (Decision, error)
	// SpendEntries lists newest first; before is an ID, 0 for the newest.
	SpendEntries(ctx context.Context, before int64, limit int) ([]SpendEntry, error)
	// Spending sums money by day, provider and queue, newest day first.
	Spending(ctx context.Context, from, until time.Time, zone *time.Location) ([]Spending, error)
}

// DecisionFilter chooses; zero values choose all.
type DecisionFilter struct {
	Kind     Kind
	Queue    string
	WorkerID string
	Tick     string
	Before   string // an ID: those recorded before it
	Limit    int    // 1 to 200 (50)
}

// Spending is money of one day, provider and queue.
type Spending struct {
	Day      string `json:"day"` // 2006-01-02
	Provider string `json:"provider"`
	Queue    string `json:"queue"`
	Amount   Money  `json:"amount_ten_thousandths_of_cent"`
}

// Usage is machine time that went into one user's jobs.
type Usage struct {
	Tenant  string  `json:"tenant"`
	Queue   string  `json:"queue"`
	Jobs    int64   `json:"jobs"`
	Seconds float64 `json:"seconds"` // of attempts on machines with a cost
	Amount  Money   `json:"amount_ten_thousandths_of_cent"`
}

// Usages reports, for no charge, what users' jobs cost: the time of their
// attempts by the rate of the machine, shared among its slots.
type Usages interface {
	Usage(ctx context.Context, from, until time.Time) ([]Usage, error)
}

// Elector makes one scheduler of many the one that acts.
type Elector interface {
	// Elect tries once; nil and no error when another holds it.
	Elect(ctx context.Context, name string) (Election, error)
}

// Election is won until it is released or lost.
type Election interface {
	Held(ctx context.Context) error
	Release()
}
