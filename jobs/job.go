package jobs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// ID numbers a job. It grows with time of arrival and is a string in JSON, so
// that no reader rounds it.
type ID int64

// String is the number in decimal.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// ParseID reads what String writes.
func ParseID(text string) (ID, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%.40q is not the id of a job, which is a positive whole number", text)
	}
	return ID(n), nil
}

// MarshalJSON writes a string.
func (id ID) MarshalJSON() ([]byte, error) { return json.Marshal(id.String()) }

// UnmarshalJSON reads a string.
func (id *ID) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("read job id: %w", err)
	}
	parsed, err := ParseID(text)
	*id = parsed
	return err
}

// State is where a job stands.
type State string

// The states. The last three are final and never left, but for a failed or
// cancelled job that somebody asks to be tried again.
const (
	Queued    State = "queued"  // waits for its time or for a worker
	Running   State = "running" // a worker holds its lease
	Succeeded State = "succeeded"
	Failed    State = "failed" // kept with its reason: the dead letters
	Cancelled State = "cancelled"
)

// Priorities: 1 goes first. 1 to 3 are for somebody who waits, 4 to 6 are
// standard, 7 to 10 are bulk.
const (
	HighestPriority = 1
	DefaultPriority = 5
	BulkPriority    = 8
	LowestPriority  = 10
)

// Market is how a worker's machine is paid for, which decides what it may do.
type Market string

// The markets.
const (
	VPS      Market = "vps"
	OnDemand Market = "on_demand"
	Spot     Market = "spot" // may be taken away within minutes
)

// Spec is what is asked for. Zero values take the default in brackets.
type Spec struct {
	Type  string `json:"type"`
	Queue string `json:"queue,omitempty"` // (that of the type)
	// Priority is 1 to 10 (that of the type).
	Priority int `json:"priority,omitempty"`
	// Tenant is whom the job is for; tenants share a priority fairly ("").
	Tenant string `json:"tenant,omitempty"`
	// Input names the original: a URL, s3://, a file key or upload:ID.
	Input  string          `json:"input,omitempty"`
	Params json.RawMessage `json:"params,omitempty"` // an object, as the type reads it ({})
	// IdempotencyKey makes a second enqueue with the same key the first job,
	// for as long as that is kept ("": none).
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	// UniqueKey does the same only while the first is queued or running.
	UniqueKey string `json:"unique_key,omitempty"`
	// RunAt or Delay is when it may begin (at once); not both.
	RunAt time.Time     `json:"run_at,omitzero"`
	Delay time.Duration `json:"-"`
	// MaxAttempts is how often its handler may fail (5).
	MaxAttempts int `json:"max_attempts,omitempty"`
	// WaitLimit fails it when it has been eligible for so long without being
	// started; 0 waits for ever. WorkLimit is the wall time of one attempt (1 h).
	WaitLimit time.Duration `json:"-"`
	WorkLimit time.Duration `json:"-"`
	// EstimatedSeconds is what it is thought to take; it weighs in fairness
	// and routing (1).
	EstimatedSeconds float64 `json:"estimated_seconds,omitempty"`
	// Checkpointable says that a lost attempt is resumed, not begun again
	// (as the type is).
	Checkpointable bool `json:"checkpointable,omitempty"`
	// Webhook is told of the end ("").
	Webhook string `json:"webhook,omitempty"`
}

// Job is a row of processing_jobs. Times are the database's; zero is null.
type Job struct {
	ID ID
	Spec
	State State
	// Rank is the priority that claims go by: Priority, less what ageing gave.
	Rank int
	// Fair is the job's place among the tenants of its rank.
	Fair float64
	// Version grows with every change, progress included.
	Version int64

	CreatedAt  time.Time
	EligibleAt time.Time // since when it could be started, or when it will be
	StartedAt  time.Time // of the latest attempt
	FinishedAt time.Time

	// Attempts is how often its handler has failed, Deliveries how often it
	// was claimed, Lost how many leases in a row ran out.
	Attempts, Deliveries, Lost int
	// CancelAsked is set while a running job is being told to stop.
	CancelAsked bool

	WorkerID   string // who holds it, or held it last
	Token      string // of its lease; never leaves the process
	LeaseUntil time.Time

	Progress Progress
	Result   json.RawMessage
	// Code and Reason say why it failed, was cancelled, or is queued again.
	Code, Reason string
}

// Ready says whether a worker could claim it now.
func (j *Job) Ready(now time.Time) bool { return j.State == Queued && !j.EligibleAt.After(now) }

// Progress is how far a running job is. Total 0 is not known yet.
type Progress struct {
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
	Note  string `json:"note,omitempty"`
}

// AttemptStatus is how one delivery to a worker ended.
type AttemptStatus string

// The ends of an attempt. Released and lost ones are not failures of the job.
const (
	AttemptRunning   AttemptStatus = "running"
	AttemptSucceeded AttemptStatus = "succeeded"
	AttemptFailed    AttemptStatus = "failed"
	AttemptCancelled AttemptStatus = "cancelled"
	AttemptReleased  AttemptStatus = "released"
	AttemptLost      AttemptStatus = "lost"
)

// Attempt is a row of job_attempts.
type Attempt struct {
	JobID      ID            `json:"job_id"`
	Number     int           `json:"number"` // the delivery's
	WorkerID   string        `json:"worker_id"`
	Status     AttemptStatus `json:"status"`
	StartedAt  time.Time     `json:"started_at"`
	FinishedAt time.Time     `json:"finished_at,omitzero"`
	Code       string        `json:"code,omitempty"`
	Reason     string        `json:"reason,omitempty"`
}

// Checkpoint is a row of job_checkpoints: a part of a job that is done and
// will not be done again. A key is written once; writing it again changes nothing.
type Checkpoint struct {
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	Number    int             `json:"number"` // of the delivery that wrote it
	WorkerID  string          `json:"worker_id"`
	CreatedAt time.Time       `json:"created_at"`
}
