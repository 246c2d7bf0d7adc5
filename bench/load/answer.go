package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spillway-media/spillway/bench/load/pictures"
	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
)

const (
	firstOverLast = 0.6
	freshLimit    = 1 // ms
)

func (b *bench) answer(ctx context.Context) (err error) {
	s, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer stop(s, &err)
	client := traffic.NewClient(s.URL)
	defer client.Close()
	for _, kind := range []string{pictures.Photo12, pictures.Camera} {
		if err := b.firstByte(ctx, client, kind); err != nil {
			return err
		}
	}
	if err := b.fresh(ctx, s, client, "file", b.asset(pictures.Photo12, thumbnail)); err != nil {
		return err
	}
	return b.fresh(ctx, s, client, "http origin, fresh for an hour",
		"/resize?"+thumbnail+"&image_url="+b.origin.url("", b.set.Next(pictures.Photo12)))
}

// firstByte compares when the first and the last byte of a large JPEG come. A
// quality is asked for: without any wish the answer waits until it is known
// whether the original is smaller.
func (b *bench) firstByte(ctx context.Context, client *traffic.Client, kind string) error {
	if !b.set.Has(kind) {
		return nil
	}
	var ratios, last []float64
	for range b.Rounds(9) + 2 {
		sample, _, err := good(ctx, client, b.asset(kind, "format=jpeg&quality=80"))
		if err != nil {
			return err
		}
		ratios, last = append(ratios, sample.First.Seconds()/sample.Took.Seconds()), append(last, milliseconds(sample.Took))
	}
	b.report.AtMost("JPEG in full size ("+kind+"), first byte over last byte", "%.2f", firstOverLast, traffic.Median(ratios),
		fmt.Sprintf(" (last byte after %.0f ms)", traffic.Median(last)), spread("%.2f", ratios))
	return nil
}

// fresh asks again and again with the ETag of the first answer.
func (b *bench) fresh(ctx context.Context, s *process.Server, client *traffic.Client, name, target string) error {
	sample, header := client.Fetch(ctx, target, nil, io.Discard)
	if !sample.OK() {
		return fmt.Errorf("ask for %s: status %d", target, sample.Status)
	}
	before, err := figuresOf(ctx, s)
	if err != nil {
		return err
	}
	asked := b.origin.asked.Load()
	var took []time.Duration
	good := true
	for range 300 {
		sample := client.Get(ctx, target, http.Header{"If-None-Match": {header.Get("ETag")}}, time.Now())
		took = append(took, sample.Took)
		good = good && sample.Status == http.StatusNotModified
	}
	asked = b.origin.asked.Load() - asked
	after, err := figuresOf(ctx, s)
	if err != nil {
		return err
	}
	p50, p99 := milliseconds(traffic.Percentile(took, 0.5)), milliseconds(traffic.Percentile(took, 0.99))
	decodes := after[worked] - before[worked]
	b.report.Holds("If-None-Match, "+name, fmt.Sprintf("304 in under %d ms, no fetch, no decode", freshLimit),
		good && p50 < freshLimit && asked == 0 && decodes == 0,
		fmt.Sprintf("%.2f ms, p99 %.2f ms, all 304: %t, %d fetches, %.0f decodes", p50, p99, good, asked, decodes), fmt.Sprintf("%d requests", len(took)))
	return nil
}
