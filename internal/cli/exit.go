package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/spillway-media/spillway/jobs"
)

// The exit codes of every command.
const (
	exitOK      = 0
	exitFailure = 1 // the work failed, or a value of the file or the environment
	exitUsage   = 2 // the command line is wrong, or a value on it

	exitJobFailed    = 3 // the job that was waited for has failed
	exitJobCancelled = 4 // the job that was waited for was cancelled
	exitUnavailable  = 5 // the server or the database of jobs is not to be reached

	exitSignal = 128 // and the signal's number
)

// errSilent is a failure whose story the command has already told.
var errSilent = errors.New("failed")

// toldError is a failure whose story is told, and whose kind still makes the
// exit code.
type toldError struct{ error }

// Unwrap gives the failure itself.
func (t toldError) Unwrap() []error { return []error{t.error, errSilent} }

// endedError is a job that was waited for and did not succeed. Its story is told.
type endedError struct{ jobs.State }

// Error names the state.
func (e endedError) Error() string { return "the job has " + string(e.State) }

// Is makes it a failure that is told already.
func (e endedError) Is(target error) bool { return target == errSilent }

// usageError is a fault of what stands on the command line.
type usageError struct{ error }

// Unwrap gives the fault itself.
func (u usageError) Unwrap() error { return u.error }

// usagef makes one.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// InterruptedError is the cause of a context that a signal ended.
type InterruptedError struct{ Signal os.Signal }

// Error names the signal.
func (i InterruptedError) Error() string { return "stopped by signal: " + i.Signal.String() }

// ExitCode is what a shell expects of a process that a signal ended.
func (i InterruptedError) ExitCode() int {
	if number, ok := i.Signal.(syscall.Signal); ok {
		return exitSignal + int(number)
	}
	return exitFailure
}

// exitCode maps an error to an exit code, the only place that does.
func exitCode(ctx context.Context, err error) int {
	if interrupted, ok := errors.AsType[InterruptedError](context.Cause(ctx)); ok && errors.Is(err, context.Canceled) {
		return interrupted.ExitCode()
	}
	if ended, ok := errors.AsType[endedError](err); ok {
		if ended.State == jobs.Cancelled {
			return exitJobCancelled
		}
		return exitJobFailed
	}
	switch {
	case isUsage(err):
		return exitUsage
	case errors.Is(err, jobs.ErrUnavailable):
		return exitUnavailable
	}
	return exitFailure
}

// isUsage tells a mistake on the command line from a fault in settings, which
// kong hands on in the same type but with the exit code of a failure.
func isUsage(err error) bool {
	if _, ok := errors.AsType[usageError](err); ok {
		return true
	}
	parse, ok := errors.AsType[*kong.ParseError](err)
	return ok && parse.ExitCode() != exitFailure
}
