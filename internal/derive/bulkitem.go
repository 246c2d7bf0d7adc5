package derive

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/jobs"
)

const (
	// itemTries is how often an item is tried within one attempt of the job;
	// busyTries the same while the service has no turn for it.
	itemTries = 3
	busyTries = 10
	// Pauses double from the first to the longest, which also bounds what an
	// origin may ask for.
	firstPause, longestPause = time.Second, 30 * time.Second
)

// one makes the pictures of one input. A fault of the item is in the item; an
// error is for the whole attempt: its end, a lost lease, or no room anywhere.
func (b *bulk) one(ctx context.Context, index int) (item, error) {
	made := item{Index: index, Input: b.names[index]}
	for try := 1; ; try++ {
		outputs, err := b.produce(ctx, made.Input)
		if err == nil {
			made.Outputs = outputs
			return made, nil
		}
		if ctx.Err() != nil {
			return made, context.Cause(ctx)
		}
		err = failure(ctx, err)
		fault, told := errors.AsType[*jobs.Failure](err)
		if !told {
			return made, err
		}
		everybodys := fault.Code == CodeStore || fault.Code == string(media.CodeOverloaded)
		if fault.Permanent || !worthTrying(fault.Code, try) {
			if everybodys {
				return made, fault
			}
			b.note(ctx, made, fault)
			made.Code, made.Reason, made.lasting = fault.Code, fault.Reason, fault.Permanent
			return made, nil
		}
		if err := pause(ctx, try, fault); err != nil {
			return made, err
		}
	}
}

func (b *bulk) produce(ctx context.Context, ref string) ([]Output, error) {
	if strings.ContainsRune(ref, unicode.ReplacementChar) {
		return nil, media.Errorf(media.CodeSourceNotFound, "The name is not UTF-8 text, so no job can hold it; rename the file.")
	}
	p := Picture{Ref: ref, Outputs: b.params.outputs}
	if b.params.into == intoCache {
		return b.cfg.Warmer.Warm(ctx, p)
	}
	outputs, _, err := b.maker.make(ctx, p, func(int) {})
	return outputs, err
}

func worthTrying(code string, try int) bool {
	if code == string(media.CodeOverloaded) {
		return try < busyTries
	}
	return try < itemTries
}

// pause waits before the next try, as long as whoever refused has asked for.
func pause(ctx context.Context, try int, fault *jobs.Failure) error {
	wait := firstPause << min(try-1, 5)
	if fault.Release > comeBack { // the refusal's own word
		wait = max(wait, fault.Release)
	}
	timer := time.NewTimer(min(wait, longestPause))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *bulk) note(ctx context.Context, i item, fault *jobs.Failure) {
	b.cfg.Log.LogAttrs(ctx, slog.LevelWarn, "item of a bulk job failed", slog.String("job_id", b.task.Job.ID.String()),
		slog.Int("index", i.Index), slog.String("reason", fault.Code), slog.Any("error", fault.Cause))
}
