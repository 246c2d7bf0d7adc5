package jobs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// Codes of ends that are not a handler's own.
const (
	CodeFailed      = "failed"       // the handler gave an error without a code
	CodePanic       = "panic"        // the handler panicked
	CodeWorkLimit   = "work-limit"   // an attempt took longer than the job's WorkLimit
	CodeWaitLimit   = "wait-limit"   // nobody could start it within its WaitLimit
	CodePoisoned    = "poisoned"     // three leases in a row were lost
	CodeLeaseLost   = "lease-lost"   // its worker is gone; it is queued again
	CodeReleased    = "released"     // its worker drains; it is queued again
	CodeCancelled   = "cancelled"    // somebody asked for it
	CodeUnknownType = "unknown-type" // no worker of this release knows the type
)

// MaxLost is how many leases in a row may be lost before a job is poisoned.
const MaxLost = 3

// Suspect is from how many lost leases in a row a job is a suspect: the next one
// would poison it. It is only given to a worker that holds nothing else, so that
// no job is poisoned because it ran beside one that kills its workers.
const Suspect = MaxLost - 1

// The causes that end a handler's context.
var (
	// ErrCancelled means that somebody cancelled the job.
	ErrCancelled = errors.New("job was cancelled")
	// ErrWorkLimit means that the attempt has used up its wall time.
	ErrWorkLimit = errors.New("job took longer than its limit")
	// ErrDraining means that the worker is to end; the job goes to another.
	ErrDraining = errors.New("worker is draining")
)

// Failure is what a handler's error tells those who ask for the job. Reason is
// a full sentence without secrets; Cause is for the log only.
type Failure struct { //nolint:errname // it is what became of a job, and an error besides
	Code, Reason string
	// Permanent failures are not tried again.
	Permanent bool
	// Release queues the job again after the time without burning an attempt:
	// there was no capacity, and nothing is wrong with the job. 0 is no release.
	Release time.Duration
	Cause   error
}

// Error implements error; the text is for logs.
func (f *Failure) Error() string {
	if f.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", f.Code, f.Reason, f.Cause)
	}
	return fmt.Sprintf("%s: %s", f.Code, f.Reason)
}

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Cause }

// Backoff is the wait after the nth failure (n from 1): 10 s, doubled each
// time, at most an hour, spread by a quarter either way by random in [0, 1).
func Backoff(n int, random float64) time.Duration {
	const first, longest = 10 * time.Second, time.Hour
	wait := math.Min(float64(first)*math.Pow(2, float64(n-1)), float64(longest))
	return time.Duration(wait * (0.75 + random/2))
}

// AfterFailure is what becomes of job whose handler answered err, when its
// context ended for cause (nil: it did not). It is never called with a lost
// lease, after which nothing may be written.
func AfterFailure(job *Job, err, cause error, random float64) Outcome {
	switch {
	case errors.Is(cause, ErrCancelled):
		return Outcome{State: Cancelled, Attempt: AttemptCancelled, Code: CodeCancelled, Reason: "The job was cancelled while it ran."}
	case errors.Is(cause, ErrDraining):
		return Outcome{State: Queued, Attempt: AttemptReleased, Code: CodeReleased, Reason: "The worker was told to stop; another goes on."}
	}
	f := failureOf(err)
	if errors.Is(cause, ErrWorkLimit) {
		f = &Failure{Code: CodeWorkLimit, Reason: fmt.Sprintf("The attempt took longer than %s.", job.WorkLimit)}
	}
	if f.Release > 0 {
		return Outcome{State: Queued, Attempt: AttemptReleased, Delay: f.Release, Code: f.Code, Reason: f.Reason}
	}
	attempts := job.Attempts + 1
	if f.Permanent || attempts >= job.MaxAttempts {
		return Outcome{State: Failed, Attempt: AttemptFailed, Code: f.Code, Reason: f.Reason}
	}
	return Outcome{State: Queued, Attempt: AttemptFailed, Delay: Backoff(attempts, random), Code: f.Code, Reason: f.Reason}
}

// AfterLoss is what becomes of a job whose lease ran out. It begins again at
// once, because nothing says that the job was at fault, until it has lost
// MaxLost leases in a row.
func AfterLoss(job *Job) Outcome {
	if job.Lost+1 >= MaxLost {
		return Outcome{State: Failed, Attempt: AttemptLost, Code: CodePoisoned,
			Reason: fmt.Sprintf("%d workers in a row were lost while they ran it; it is not given to another.", MaxLost)}
	}
	return Outcome{State: Queued, Attempt: AttemptLost, Code: CodeLeaseLost, Reason: "The worker that ran it was lost; another begins."}
}

// AfterMachine is what becomes of a job whose machine is gone for good. When it
// was ended on purpose, with asked, the job is not suspected of having done that.
func AfterMachine(job *Job, asked bool) Outcome {
	if !asked {
		return AfterLoss(job)
	}
	return Outcome{State: Queued, Attempt: AttemptReleased, Code: CodeReleased, Reason: "The machine of its worker was ended; another begins."}
}

func failureOf(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &Failure{Code: CodeFailed, Reason: "Something that the job waited for took too long.", Cause: err}
	}
	return &Failure{Code: CodeFailed, Reason: "The cause is in the worker's log.", Cause: err}
}
