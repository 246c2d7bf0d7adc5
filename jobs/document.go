package jobs

import (
	"encoding/json"
	"net/url"
	"time"
)

// Document is a job as the API, the shell and webhooks show it. It holds no
// lease, and of a webhook only its host: the rest may be a secret.
type Document struct {
	ID               ID              `json:"id"`
	Type             string          `json:"type"`
	Queue            string          `json:"queue"`
	Priority         int             `json:"priority"`
	Tenant           string          `json:"tenant,omitempty"`
	State            State           `json:"state"`
	Input            string          `json:"input,omitempty"`
	Params           json.RawMessage `json:"params"`
	Progress         Progress        `json:"progress"`
	Result           json.RawMessage `json:"result,omitempty"`
	Code             string          `json:"code,omitempty"`
	Reason           string          `json:"reason,omitempty"`
	CreatedAt        time.Time       `json:"created_at"`
	EligibleAt       time.Time       `json:"eligible_at"`
	StartedAt        time.Time       `json:"started_at,omitzero"`
	FinishedAt       time.Time       `json:"finished_at,omitzero"`
	WorkerID         string          `json:"worker_id,omitempty"`
	Attempts         int             `json:"attempts"` // failed ones
	MaxAttempts      int             `json:"max_attempts"`
	Deliveries       int             `json:"deliveries"`
	LostLeases       int             `json:"lost_leases"` // in a row
	CancelAsked      bool            `json:"cancel_asked,omitempty"`
	IdempotencyKey   string          `json:"idempotency_key,omitempty"`
	UniqueKey        string          `json:"unique_key,omitempty"`
	WorkLimitSeconds float64         `json:"work_limit_seconds"`
	WaitLimitSeconds float64         `json:"wait_limit_seconds,omitempty"`
	EstimatedSeconds float64         `json:"estimated_seconds"`
	Checkpointable   bool            `json:"checkpointable,omitempty"`
	WebhookHost      string          `json:"webhook_host,omitempty"`
	Version          int64           `json:"version"` // grows with every change
}

// Document shows j.
func (j *Job) Document() Document {
	d := Document{
		ID: j.ID, Type: j.Type, Queue: j.Queue, Priority: j.Priority, Tenant: j.Tenant, State: j.State,
		Input: j.Input, Params: j.Params, Progress: j.Progress, Result: j.Result, Code: j.Code, Reason: j.Reason,
		CreatedAt: j.CreatedAt, EligibleAt: j.EligibleAt, StartedAt: j.StartedAt, FinishedAt: j.FinishedAt,
		WorkerID: j.WorkerID, Attempts: j.Attempts, MaxAttempts: j.MaxAttempts, Deliveries: j.Deliveries,
		LostLeases: j.Lost, CancelAsked: j.CancelAsked, IdempotencyKey: j.IdempotencyKey, UniqueKey: j.UniqueKey,
		WorkLimitSeconds: j.WorkLimit.Seconds(), WaitLimitSeconds: j.WaitLimit.Seconds(),
		EstimatedSeconds: j.EstimatedSeconds, Checkpointable: j.Checkpointable, Version: j.Version,
	}
	if u, err := url.Parse(j.Webhook); err == nil {
		d.WebhookHost = u.Host
	}
	return d
}

// QueueDocument is a queue as the API and the shell show it.
type QueueDocument struct {
	Queue   string `json:"queue"`
	Depth   int64  `json:"depth"`
	Delayed int64  `json:"delayed"`
	Running int64  `json:"running"`
	// More is true when counting stopped at a bound.
	More              bool    `json:"more"`
	OldestAge         float64 `json:"oldest_age_seconds"`
	OldestInteractive float64 `json:"oldest_interactive_seconds"`
	Priorities        []int64 `json:"priorities"` // depth by rank, 1 first
}

// Document shows q.
func (q QueueStats) Document() QueueDocument {
	return QueueDocument{
		Queue: q.Queue, Depth: q.Depth, Delayed: q.Delayed, Running: q.Running, More: q.More,
		OldestAge: q.OldestAge.Seconds(), OldestInteractive: q.OldestInteractive.Seconds(),
		Priorities: q.Priorities[:],
	}
}
