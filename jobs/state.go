package jobs

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Outcome is what a running job becomes. Only these are possible:
//
//	Succeeded  with a Result
//	Failed     for good, with Code and Reason
//	Cancelled  with Reason
//	Queued     again: AttemptFailed after a failure that is retried (Delay is
//	           its backoff), AttemptReleased on a drain, a spot notice or for
//	           want of capacity, AttemptLost by a rescue
type Outcome struct {
	State   State
	Attempt AttemptStatus
	// Delay is after how long it may begin again, when it is queued.
	Delay        time.Duration
	Result       json.RawMessage
	Code, Reason string
	// Progress is the last word of the attempt; nil leaves what was written.
	Progress *Progress
}

// Final says whether a state is never left by itself.
func (s State) Final() bool { return s == Succeeded || s == Failed || s == Cancelled }

// Validate reports an outcome that no running job may have.
func (o Outcome) Validate() error {
	allowed := map[State][]AttemptStatus{
		Succeeded: {AttemptSucceeded},
		Failed:    {AttemptFailed, AttemptLost},
		Cancelled: {AttemptCancelled, AttemptLost},
		Queued:    {AttemptFailed, AttemptReleased, AttemptLost},
	}
	if !slices.Contains(allowed[o.State], o.Attempt) {
		return fmt.Errorf("outcome: a running job cannot become %q by an attempt that is %q", o.State, o.Attempt)
	}
	return nil
}

// Counters is how an outcome changes a job's budgets. Only a failed attempt
// burns one, only a lost lease counts as lost, and whatever else ends an
// attempt shows that the job does not kill its workers.
func (o Outcome) Counters(attempts, lost int) (newAttempts, newLost int) {
	switch o.Attempt {
	case AttemptFailed:
		return attempts + 1, 0
	case AttemptLost:
		return attempts, lost + 1
	}
	return attempts, 0
}
