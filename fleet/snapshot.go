package fleet

import "time"

// Snapshot is all that a decision is made of. It can be written down and
// decided on again with the same result.
type Snapshot struct {
	At      time.Time    // the database's clock: all times below are its
	FleetID string       // whose machines are meant
	Queues  []QueueState // of every queue in the configuration, in order of name
	Workers []Worker     // not terminated, in order of id
	// Inventories holds each provider that was asked and answered; one that is
	// missing failed, and is in Faults.
	Inventories map[string]Inventory
	// Unasked are enabled providers that nobody can ask here: a dry run without
	// them in the program. Their machines are taken from Workers.
	Unasked []string
	Offers  []Offer
	Spend   Spend
	Latch   *Latch // nil: not tripped
	Memory  Memory
	Faults  []Fault
	// Refused is why the settings as their file stands are not in force; "" they are.
	Refused string
	// Requests are launches and ends that an operator asked for in the shell.
	Requests []Request
}

// Fault is an observation that failed.
type Fault struct {
	Source string `json:"source"` // "database", "redis", "provider:aws"
	Reason string `json:"reason"`
	Times  int    `json:"times"` // ticks in a row
}

// Bands of priority: interactive 1 to 3, standard 4 to 6, bulk 7 to 10.
const (
	Interactive = iota
	Standard
	Bulk
	bands
)

// QueueState is one queue.
type QueueState struct {
	Name string
	// Depth is how many jobs are ready, by Source: "redis" (LLEN) or "database".
	Depth  int64
	Source string
	// Rows is the depth by the database, which Redis should agree with.
	Rows    int64
	Running int64
	// Oldest is the longest time since a ready job became eligible; 0 none.
	Oldest time.Duration
	Bands  [bands]Band
	// Waits splits the ready jobs by the routing table's rows.
	Waits    Waits
	Arrivals float64       // a second, over the last five minutes
	Service  time.Duration // mean of recent attempts; 0 not known
	Failed   int           // of the last Finished attempts, 100 at most
	Finished int
}

// Band is the jobs of some priorities.
type Band struct {
	Depth  int64
	Oldest time.Duration
}

// Waits counts ready jobs by where they may run. Long is an estimate of more
// than 30 minutes, whatever the priority.
type Waits struct {
	Interactive int64 // priority 1 to 3: on demand or VPS
	Standard    int64 // 4 to 6, not long: either
	Bulk        int64 // 7 to 10, not long: spot preferred
	LongResumes int64 // long, with checkpoints, 4 to 10: spot
	LongFixed   int64 // long, without: on demand or VPS
}

// WorkerStatus is where a worker stands: the words of jobs.WorkerStatus.
type WorkerStatus string

// The statuses.
const (
	Provisioning WorkerStatus = "provisioning"
	Active       WorkerStatus = "active"
	Draining     WorkerStatus = "draining"
	Terminated   WorkerStatus = "terminated"
)

// Worker is a row of workers.
type Worker struct {
	ID         string
	Place      // Provider is "vps" for what no scheduler started
	InstanceID string
	Queues     []string
	Slots      int
	Status     WorkerStatus
	// Claimed counts the running jobs that name it in processing_jobs, which
	// beats what the worker says of itself (CurrentJobs).
	Claimed, CurrentJobs int
	// ProvisionedAt is when the row was made, LaunchedAt when the provider says
	// that the machine began, RegisteredAt when the worker did; zero: not yet.
	ProvisionedAt, LaunchedAt, RegisteredAt time.Time
	LastHeartbeat, LastJobCompletedAt       time.Time
	DrainDeadline                           time.Time
	// LeftAt is when the worker said goodbye or was found silent: it is draining
	// and will not claim again, but its machine is still to be ended.
	LeftAt time.Time
	// TerminateAt is when the provider was first asked to end it.
	TerminateAt time.Time
	// AccruedUntil is up to when spend_entries hold its cost.
	AccruedUntil time.Time
	// KeepUntil ends a machine that an operator asked for, which is left alone
	// until then; zero: like any other.
	KeepUntil time.Time
	Origin    Origin
	// Rate is price and surcharge an hour (cost_per_hour_cents), Ceiling what
	// limits count for it.
	Rate, Ceiling Money
	Granularity   time.Duration
	// CPUPercent is the latest of worker_metrics, At CPUAt.
	CPUPercent float64
	CPUAt      time.Time
	// MaxRank is the highest priority number that it may claim; 0 all, less than 0
	// none: see Parked.
	MaxRank int
	Request LaunchRequest // zero for what no scheduler started
}

// Cloud is true for a machine that a scheduler started for more than the baseline.
func (w Worker) Cloud() bool { return w.Market != VPS }

// Spend is money, as the ledger has it up to each worker's AccruedUntil, and
// extrapolated from there, AccruedUntil with it, when the ledger cannot be asked.
type Spend struct {
	Hour, Day    Money // accrued in the last 60 minutes, and since midnight
	Extrapolated bool
}

// Latch is a daily limit that tripped: vps_only until somebody resets it.
type Latch struct {
	At     time.Time `json:"at"`
	Spent  Money     `json:"spent"`
	Limit  Money     `json:"limit"`
	Reason string    `json:"reason"`
}

// Request is what an operator asks for in the shell.
type Request struct {
	ID       string        `json:"id"`
	At       time.Time     `json:"at"`
	Do       Kind          `json:"do"` // KindLaunch, KindDrain or KindTerminate
	Queue    string        `json:"queue,omitempty"`
	Provider string        `json:"provider,omitempty"`
	Count    int           `json:"count,omitempty"`
	Spot     bool          `json:"spot,omitempty"`
	For      time.Duration `json:"for,omitempty"` // launch: kept so long; drain: done within
	WorkerID string        `json:"worker_id,omitempty"`
}

// Add counts n ready jobs of a priority, of which the oldest has waited so long,
// as not long ones; stores fill a QueueState by it and AddLong.
func (q *QueueState) Add(priority int, n int64, oldest time.Duration) {
	q.Depth += n
	q.Rows += n
	q.Oldest = max(q.Oldest, oldest)
	band, waits := q.row(priority)
	band.Depth += n
	band.Oldest = max(band.Oldest, oldest)
	*waits += n
}

// AddLong says that n of the jobs that were counted are long.
func (q *QueueState) AddLong(priority int, resumes bool, n int64) {
	_, waits := q.row(priority)
	*waits -= n
	if resumes && priority > 3 {
		q.Waits.LongResumes += n
	} else {
		q.Waits.LongFixed += n
	}
}

// row is where jobs of a priority that are not long are counted.
func (q *QueueState) row(priority int) (*Band, *int64) {
	switch {
	case priority <= 3:
		return &q.Bands[Interactive], &q.Waits.Interactive
	case priority <= 6:
		return &q.Bands[Standard], &q.Waits.Standard
	}
	return &q.Bands[Bulk], &q.Waits.Bulk
}
