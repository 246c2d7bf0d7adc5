package derive

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/jobs"
)

// Codes of this package beside those of internal/media.
const (
	CodeStore    = "store-failed"    // the blob store could not keep the result
	CodeFailures = "too-many-failed" // more items of a bulk job than may
)

// lasting are faults of what was asked for: trying again gives the same.
var lasting = map[media.Code]bool{
	media.CodeInvalidParameter: true, media.CodeUnsupported: true, media.CodeUnwritable: true, media.CodeDecodeFailed: true,
	media.CodePixels: true, media.CodeFrames: true, media.CodeScans: true, media.CodeSVG: true, media.CodeMetadata: true,
	media.CodePage: true, media.CodeOutputSide: true, media.CodeOutputBytes: true, media.CodeMemory: true,
	media.CodeSourceTooLarge: true, media.CodeSourceNotFound: true, media.CodeSourceForbidden: true,
}

// noCapacity are refusals for which nothing is wrong with the job.
var noCapacity = map[media.Code]bool{media.CodeOverloaded: true, media.CodeSourceUnavailable: true}

// comeBack is when a job is to be tried that found no capacity, where the
// refusal itself does not tell.
const comeBack = 15 * time.Second

// failure puts an error into the words of jobs. A lost lease and the end of ctx
// stay what they are: what follows from them is the worker's affair.
func failure(ctx context.Context, err error) error {
	var coded *media.Error
	var told *jobs.Failure
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jobs.ErrLeaseLost):
		return jobs.ErrLeaseLost
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &told):
		return told
	case errors.Is(err, errStore):
		return &jobs.Failure{Code: CodeStore, Reason: "The result could not be stored.", Cause: err}
	case errors.As(err, &coded):
		f := &jobs.Failure{Code: string(coded.Code), Reason: coded.Detail, Permanent: lasting[coded.Code], Cause: coded.Cause}
		if noCapacity[coded.Code] {
			f.Release = max(coded.RetryAfter, comeBack)
		}
		return f
	}
	return &jobs.Failure{Code: jobs.CodeFailed, Reason: "The cause is in the worker's log.", Cause: err}
}

// unreadable is for params that were checked at the enqueue, perhaps by another
// release.
func unreadable(err error) error {
	f := &jobs.Failure{Code: string(media.CodeInvalidParameter), Reason: "The job's params cannot be read.", Permanent: true}
	for _, fault := range jobs.SpecErrors(err) {
		f.Reason = fault.Error()
		break
	}
	return f
}
