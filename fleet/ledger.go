package fleet

import (
	"cmp"
	"context"
	"errors"
	"math/big"
	"slices"
	"time"
)

// What stores answer.
var (
	// ErrNotFound means that there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrState refuses a change that the row's status does not allow.
	ErrState = errors.New("status does not allow it")
)

// Store is all that the scheduler needs of a database: the sum of the roles, for
// who wires them. store/storetest holds every store to it.
type Store interface { //nolint:interfacebloat // each user asks for a role of its own
	Demand
	Rows
	Drains
	Ledger
	Desk
	Usages
	Elector
}

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
	// Fleet lists the workers that are not terminated. One that was provisioned
	// and whose worker said goodbye, or fell silent for too long, stays in it as
	// draining, with LeftAt and no time left, until Gone: its machine is there.
	Fleet(ctx context.Context) ([]Worker, error)
	// Provision inserts a row for a machine that will be asked for, as of now by
	// the database's clock; a row of that id that is there stays as it is.
	Provision(ctx context.Context, w Worker) error
	// Attach writes what the provider answered: instance, place, launch time,
	// and the money, which may be another candidate's than the row was made for.
	// Without an instance in m it names the candidate that is going to be asked
	// next, so that the row is right about money before there is a machine.
	// ErrState when the row is terminated: nobody waits for that machine any more.
	Attach(ctx context.Context, workerID string, m Machine, o Offer) error
	// Terminating notes when the provider was first asked to end it, and has it
	// claim no more. ErrState when it is terminated.
	Terminating(ctx context.Context, workerID string) error
	// Gone marks it as terminated at a time and gives the jobs back that it
	// still holds: each once, without burning an attempt. Jobs of a machine that
	// nobody asked to end count a lost lease, because they may be why it went.
	Gone(ctx context.Context, workerID string, at time.Time) (requeued []int64, err error)
}

// Drains asks workers to stop claiming; jobs.ControlStore has the same.
type Drains interface {
	// Drain sets the deadline, or brings it forward: a later one changes nothing.
	Drain(ctx context.Context, workerID string, within time.Duration) error
	// Undrain lets it claim again. ErrState when it has left, when the provider
	// was asked to end it, or when it is terminated.
	Undrain(ctx context.Context, workerID string) error
	// Restrict bounds what it may claim to priorities up to maxRank; 0 all, less
	// than 0 none: what a parked worker has it finishes.
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
	// Entries: AccruedUntil of their workers becomes the latest Until of accruals.
	// An entry that is there already (the same but for its ID and amount), and an
	// accrual of time that is booked, is left out: a Record may be sent again.
	Entries  []SpendEntry
	Memory   *Memory  // nil leaves it
	Answered []string // requests that are done with
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
type Ledger interface { //nolint:interfacebloat // one role: what the loop keeps between ticks, and its money
	State(ctx context.Context) (State, error)
	Record(ctx context.Context, r Record) error
	// Trip sets the latch and answers it; one that is set already stays.
	Trip(ctx context.Context, l Latch) error
	// Reset clears it and answers what it was; nil none. The day's spending stays.
	Reset(ctx context.Context) (*Latch, error)
	// Spent sums entries between two times, those across an edge by their share.
	Spent(ctx context.Context, from, until time.Time) (Money, error)
	// Bills sums what was booked for each of the machines that are asked for. An
	// id that only entries know has a bill with no more than ID, Place and money:
	// entries of machines without a row are called "provider/machine id".
	Bills(ctx context.Context, ask Bills) ([]Bill, error)
}

// KeepSpending is how long stores keep entries: a year can be compared with the
// one before.
const KeepSpending = 2 * 366 * 24 * time.Hour

// KeepDecisions is how long stores keep decisions of each kind. Those to hold
// come with every tick and are worth a week, an alert as much; what was done is
// kept as long as the money that it cost.
func KeepDecisions() map[Kind]time.Duration {
	keep := map[Kind]time.Duration{KindHold: 7 * 24 * time.Hour, KindAlert: 7 * 24 * time.Hour}
	for _, k := range []Kind{
		KindLaunch, KindUndrain, KindDrain, KindTerminate, KindRequeue, KindRevert, KindAdopt, KindRestrict, KindForget, KindSweep, KindReset,
	} {
		keep[k] = KeepSpending
	}
	return keep
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

// Share is what of an entry falls between two times; the shares of times that
// follow each other add up to the whole. An entry of a moment belongs to that.
func (e SpendEntry) Share(from, until time.Time) Money {
	if !from.Before(until) {
		return 0
	}
	if !e.Until.After(e.From) {
		if e.From.Before(from) || !e.From.Before(until) {
			return 0
		}
		return e.Amount
	}
	return e.before(until) - e.before(from)
}

func (e SpendEntry) before(at time.Time) Money {
	whole := e.Until.Sub(e.From)
	part := min(max(0, at.Sub(e.From)), whole)
	// Both factors can be large, so the product is taken in 128 bits.
	p := new(big.Int).Mul(big.NewInt(int64(e.Amount)), big.NewInt(int64(part)))
	return Money(p.Div(p, big.NewInt(int64(whole))).Int64())
}

// ByDay sums entries by day, provider and queue, newest day first. Only what
// falls between the two times counts, and what crosses a midnight of the zone
// is split there.
func ByDay(entries []SpendEntry, from, until time.Time, zone *time.Location) []Spending {
	sums := map[Spending]Money{}
	for _, e := range entries {
		day := Midnight(e.From, zone)
		for begins := true; begins || day.Before(e.Until); begins = false {
			next := nextMidnight(day, zone)
			key := Spending{Day: day.Format(time.DateOnly), Provider: e.Provider, Queue: e.Queue}
			if share := e.Share(later(day, from), earlier(next, until)); share != 0 {
				sums[key] += share
			}
			day = next
		}
	}
	list := make([]Spending, 0, len(sums))
	for key, sum := range sums {
		key.Amount = sum
		list = append(list, key)
	}
	slices.SortFunc(list, func(a, b Spending) int {
		return cmp.Or(cmp.Compare(b.Day, a.Day), cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Queue, b.Queue))
	})
	return list
}
