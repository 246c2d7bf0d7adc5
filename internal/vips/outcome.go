package vips

// #include "bridge.h"
import "C"

import (
	"context"
	"errors"

	"github.com/spillway-media/spillway/internal/media"
)

// outcome turns the stage a run stopped at into what a client may be told.
// The text of libvips goes into the cause only: it names functions, and under
// load it may be a neighbour's, because libvips keeps one for all threads.
func (r *run) outcome(ctx context.Context, stage C.int) error {
	cause := errors.New(C.GoString(&r.job.message[0]))
	switch stage {
	case C.SPW_OK:
		return nil
	case C.SPW_CANCELLED:
		return stopped(ctx)
	case C.SPW_SINK, C.SPW_LAYOUT:
		return refused(r.err)
	case C.SPW_DECODE:
		return media.Wrap(media.CodeDecodeFailed, cause, "The picture cannot be decoded: it is broken or cut short.")
	case C.SPW_MARK:
		return media.Wrap(media.CodeDecodeFailed, cause, "The watermark cannot be decoded: it is broken or cut short.")
	case C.SPW_UNWRITABLE:
		return media.Wrap(media.CodeUnwritable, cause, "The result cannot be written in the format asked for.")
	case C.SPW_PIXELS:
		return media.Errorf(media.CodePage, "page: page %d has more than %d pixels, which is what is allowed.",
			r.plan.Request.Page, r.limits.Pixels).About("page")
	case C.SPW_TOO_LARGE:
		return media.Errorf(media.CodeOutputBytes,
			"max_bytes: no quality makes the result as small as %d bytes.", r.plan.Request.MaxBytes).About("max_bytes")
	}
	return media.Wrap(media.CodeEncodeFailed, cause, "The result could not be made.")
}

// refused keeps an error that a callback chose for the client; anything else
// is a writer that went away.
func refused(err error) error {
	var told *media.Error
	if errors.As(err, &told) {
		return told
	}
	return media.Wrap(media.CodeCancelled, err, "The result could not be handed on.")
}

// stopped tells a timeout from a client that left.
func stopped(ctx context.Context) error {
	cause := context.Cause(ctx)
	var told *media.Error
	if errors.As(cause, &told) {
		return told
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(cause, context.DeadlineExceeded) {
		return media.Wrap(media.CodeTimeout, cause, "The picture took too long to make.")
	}
	return media.Wrap(media.CodeCancelled, cause, "The work was stopped because nobody waits for it.")
}
