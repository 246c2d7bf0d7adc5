package transform

import (
	"context"
	"errors"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/originals"
	"github.com/spillway-media/spillway/internal/spool"
)

// asMediaError lets coded errors pass and gives the rest a code by kind.
func asMediaError(err error) error {
	var coded *media.Error
	switch {
	case err == nil, changed(err):
		return err // not for clients: it is asked again
	case errors.As(err, &coded):
		return coded
	case errors.Is(err, context.Canceled):
		return media.Wrap(media.CodeCancelled, err, "The request ended before its picture was ready.")
	case errors.Is(err, context.DeadlineExceeded):
		return media.Wrap(media.CodeTimeout, err, "The request took longer than allowed.")
	case errors.Is(err, spool.ErrFull):
		return media.Wrap(media.CodeOverloaded, err, "The server is busy: its space for results is used up.")
	case errors.Is(err, spool.ErrTooLarge):
		return media.Wrap(media.CodeOutputBytes, err, "The result is larger than the limit for one output.")
	}
	return media.Wrap(media.CodeEncodeFailed, err, "The picture could not be made.")
}

// ended tells why ctx is over: by a cause of ours that has a code, or because
// whoever asked has left, which detail words.
func ended(ctx context.Context, detail string) error {
	cause := context.Cause(ctx)
	var coded *media.Error
	if errors.As(cause, &coded) {
		return coded
	}
	return media.Wrap(media.CodeCancelled, cause, "%s", detail)
}

// changed tells whether an error means that the origin has another version
// than the one the key was made of, so that asking again will help.
func changed(err error) bool { return errors.Is(err, originals.ErrChanged) }

// errChanging is for a source that is another one each time it is asked.
var errChanging = media.Errorf(media.CodeSourceFailed, "The source changed each time it was read.")

func bytesOf(o *originals.Original) []byte {
	if o == nil {
		return nil
	}
	return o.Bytes()
}
