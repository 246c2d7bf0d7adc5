package originals

import (
	"context"
	"errors"

	"github.com/spillway-media/spillway/internal/media"
)

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
