package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spillway-media/spillway/bench/load/pictures"
	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
	"github.com/spillway-media/spillway/bench/report"
)

// What less effort has to gain when twice the capacity is asked for, and what
// it may cost in bytes.
const (
	effortGain  = 1.25
	effortBytes = 1.08
	effortFlag  = "reduce-effort"
	effortWait  = "100ms"
)

// effort offers twice the capacity to a server that keeps its effort and to one
// that lowers it, turn and turn about. At 1200 pixels the encoder is what
// costs.
func (b *bench) effort(ctx context.Context) (err error) {
	if !b.has(effortFlag) {
		b.report.Missing("goodput at 2x with less effort over that with full effort", fmt.Sprintf("at least %.2f", effortGain), "the server has no --"+effortFlag)
		return nil
	}
	full, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer stop(full, &err)
	less, err := b.serve(ctx, "--"+effortFlag, effortWait)
	if err != nil {
		return err
	}
	defer stop(less, &err)
	next := b.of(pictures.Photo12, "sizes=1200x0&format=webp&quality=80")
	client := traffic.NewClient(full.URL)
	defer client.Close()
	offered := 2 * b.capacity(ctx, client, next)
	var gains, bytes, share []float64
	for i := range b.Rounds(3) {
		with := b.overload(ctx, less, offered, uint64(70+i), next)
		without := b.overload(ctx, full, offered, uint64(70+i), next)
		if without.OK == 0 || with.OK == 0 {
			return errors.Join(err, fmt.Errorf("at %.1f/s: %d good with full effort, %d with less", offered, without.OK, with.OK))
		}
		gains, bytes = append(gains, with.Rate/without.Rate), append(bytes, with.Bytes/without.Bytes)
		share = append(share, float64(with.Eased)/float64(with.OK))
	}
	b.report.AtLeast("1200 WebP at 2x: goodput with less effort over that with full effort", "%.2f", effortGain, traffic.Median(gains),
		fmt.Sprintf(" (%.1f/s offered, %s of the answers marked)", offered, report.Percent(traffic.Median(share))), spread("%.2f", gains))
	b.report.AtMost("1200 WebP at 2x: bytes with less effort over those with full effort", "%.3f", effortBytes, traffic.Median(bytes), "", spread("%.3f", bytes))
	return nil
}

func (b *bench) overload(ctx context.Context, s *process.Server, rate float64, seed uint64, next func() string) traffic.Summary {
	client := traffic.NewClient(s.URL)
	defer client.Close()
	all, _, _ := b.flood(ctx, s, client, rate, seed, next)
	return all
}
