package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
)

// What the program may cost before it does anything.
const (
	idleLimit   = 60  // MB resident
	binaryLimit = 50  // MB, stripped
	startLimit  = 100 // ms until it listens
)

func (b *bench) footprint(ctx context.Context) error {
	size, err := b.stripped(ctx)
	if err != nil {
		return err
	}
	b.report.AtMost("stripped binary", "%.1f MB", binaryLimit, megabytes(size), "", "")
	var starts, idle []float64
	for range b.Rounds(9) {
		began, held, err := b.birth(ctx)
		if err != nil {
			return err
		}
		starts, idle = append(starts, milliseconds(began)), append(idle, megabytes(held))
	}
	b.report.AtMost("start to listening", "%.0f ms", startLimit, traffic.Median(starts), "", spread("%.0f", starts))
	b.report.AtMost("resident memory, idle", "%.0f MB", idleLimit, traffic.Median(idle), "", spread("%.0f", idle))
	return nil
}

// birth is the time a server takes to listen and what it holds a second later.
func (b *bench) birth(ctx context.Context) (began time.Duration, held int64, err error) {
	s, err := b.serveSharing(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer stop(s, &err)
	if !traffic.Wait(ctx, time.Second) {
		return 0, 0, ctx.Err()
	}
	memory, err := process.Held(s.PID)
	if err != nil {
		return 0, 0, fmt.Errorf("measure idle server: %w", err)
	}
	return s.Began, memory.Now, errors.Join(err)
}
