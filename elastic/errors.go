package elastic

import (
	"context"
	"errors"
	"fmt"
)

// What a submitter can be told. Errors of the handler come through unchanged.
var (
	// ErrQueueFull refuses a job because QueueSize jobs wait already.
	ErrQueueFull = errors.New("queue full")
	// ErrWouldWait refuses a job that, at the present pace, would still be
	// waiting at its deadline.
	ErrWouldWait = errors.New("would wait longer than the deadline allows")
	// ErrShuttingDown refuses a new job, returns a queued one, and is the
	// cause that ends the context of one that runs at shutdown's deadline.
	ErrShuttingDown = errors.New("pool is shutting down")
	// ErrDeadline returns a job whose deadline passed while it was queued,
	// and is the cause that ends the context of one that runs.
	ErrDeadline = fmt.Errorf("the job's: %w", context.DeadlineExceeded)
	// ErrNested refuses to let a job wait for another of its own pool: with
	// every worker doing so, none would be left to do the work.
	ErrNested = errors.New("a job must not wait for a job of its own pool")
	// ErrTooHeavy refuses a job that weighs more than the gate's memory.
	ErrTooHeavy = errors.New("heavier than the memory budget")
	// ErrWithdrawn is the outcome of a ticket withdrawn by its owner.
	ErrWithdrawn = errors.New("job withdrawn")
	// ErrWorkerExited is the outcome of a job that ended its goroutine.
	ErrWorkerExited = errors.New("the worker's goroutine exited in the middle of the job")
	// ErrAbandoned is the outcome of a job that did not stop when told to at
	// the end of a shutdown. It is an ErrShuttingDown, too.
	ErrAbandoned = fmt.Errorf("%w: the job did not stop in time", ErrShuttingDown)
)

// What a worker says, and what it is told.
var (
	// ErrReplaceWorker, wrapped in what Do returns, has the worker closed and
	// another made in its place.
	ErrReplaceWorker = errors.New("worker must be replaced")
	// ErrRetireGrace is the cause that ends the context of a worker which was
	// asked to retire and is still there when RetireGrace is over.
	ErrRetireGrace = errors.New("retirement outlasted its grace")
)

// PanicError is the outcome of a job whose handler panicked.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // as by runtime/debug.Stack
}

// Error tells the value; the stack is for logs.
func (e *PanicError) Error() string { return fmt.Sprintf("job panicked: %v", e.Value) }

// Unwrap gives the error that was passed to panic, if it was one.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
