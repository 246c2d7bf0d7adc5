package fleet

import (
	"context"
	"time"
)

// Level is how much an alert matters.
type Level string

// The levels.
const (
	Info     Level = "info"
	Warning  Level = "warning"
	Critical Level = "critical"
)

// Notice is what people are told.
type Notice struct {
	Key       string    `json:"key"` // the same for as long as it is the same condition
	Level     Level     `json:"level"`
	Name      string    `json:"name"` // "queue_depth", "worker_launched", ...
	Sentence  string    `json:"sentence"`
	At        time.Time `json:"at"`
	Since     time.Time `json:"since,omitzero"`
	Resolved  bool      `json:"resolved"`
	Queue     string    `json:"queue,omitempty"`
	WorkerID  string    `json:"worker_id,omitempty"`
	Value     string    `json:"value,omitempty"`
	Threshold string    `json:"threshold,omitempty"`
	Decision  string    `json:"decision,omitempty"`
}

// Notifier tells people. It answers when every channel has taken the notice or
// has failed for good or for now; what failed for now is sent again next tick.
type Notifier interface {
	Notify(ctx context.Context, n Notice) error
}
