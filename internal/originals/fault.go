package originals

import (
	"context"
	"errors"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
)

// ErrChanged means that the origin has another version by now than the one
// that was opened, whose bytes cannot be had any more. All that was decided by
// Meta and Version must be decided anew: close, and Open again, which finds the
// other version on its way. That one can meet the same fate, so bound the
// attempts. ErrChanged is the cause of a *media.Error with words for a client.
var ErrChanged = errors.New("source changed after it was opened")

func changed() error {
	return media.Wrap(media.CodeSourceFailed, ErrChanged, "The source changed while it was fetched.")
}

func tooLarge(limit int64) error {
	return media.Errorf(media.CodeSourceTooLarge, "The source is larger than the limit of %d bytes.", limit)
}

// asSourceError lets coded errors pass and gives the rest one.
func asSourceError(err error) error {
	var coded *media.Error
	if errors.As(err, &coded) {
		return coded
	}
	return media.Wrap(media.CodeSourceFailed, err, "The source could not be read.")
}

// isVerdict tells an origin's word about an original (that it is gone, or not
// for us) from trouble on the way, its own or ours.
func isVerdict(err error) bool {
	var coded *media.Error
	if !errors.As(err, &coded) || source.Unavailable(err) {
		return false
	}
	switch coded.Code {
	case media.CodeCancelled, media.CodeOverloaded, media.CodeTimeout:
		return false
	}
	return true
}

// ended tells why a caller's waiting is over: by a cause of ours that has a
// code, by its deadline, or because whoever asked has left.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	var coded *media.Error
	switch {
	case errors.As(cause, &coded):
		return coded
	case errors.Is(cause, context.DeadlineExceeded):
		return media.Wrap(media.CodeSourceTimeout, cause, "The source did not arrive before the request's deadline.")
	}
	return media.Wrap(media.CodeCancelled, cause, "The request was cancelled while its source was fetched.")
}
