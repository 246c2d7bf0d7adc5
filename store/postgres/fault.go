package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/spillway-media/spillway/jobs"
)

// The conditions of Postgres (appendix A of its manual) that calls branch on.
const (
	uniqueViolation      = "23505"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	undefinedTable       = "42P01"
)

// serversFault are the beginnings of the conditions that the server is at fault
// for: connections, authorisation, a missing database, a standby that only
// reads, lost races, resources, locks, its shutdown, its disk, itself.
var serversFault = []string{"08", "28", "3D", "25006", "40", "53", "55", "57", "58", "XX"}

// fault says what went wrong, and wraps jobs.ErrUnavailable when the request
// was not to blame. Conditions that jobs names pass as they are.
func fault(verb string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jobs.ErrNotFound), errors.Is(err, jobs.ErrLeaseLost), errors.Is(err, jobs.ErrState),
		errors.Is(err, jobs.ErrUnavailable), errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", verb, err)
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && !unavailable(pg.Code) {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return fmt.Errorf("%s: %w: %w", verb, jobs.ErrUnavailable, err)
}

func unavailable(code string) bool {
	for _, beginning := range serversFault {
		if strings.HasPrefix(code, beginning) {
			return true
		}
	}
	return false
}

// again says whether the same call may be made once more: it surely changed
// nothing.
func again(err error) bool {
	return err != nil && (pgconn.SafeToRetry(err) || is(err, serializationFailure) || is(err, deadlockDetected))
}

func is(err error, code string) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == code
}
