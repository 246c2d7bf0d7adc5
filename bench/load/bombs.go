package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/bench/load/pictures"
	"github.com/spillway-media/spillway/bench/load/traffic"
)

// bombLimit is how long it may take to see what a bomb is, in milliseconds.
const bombLimit = 5

func (b *bench) bombs(ctx context.Context) (err error) {
	s, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer stop(s, &err)
	client := traffic.NewClient(s.URL)
	defer client.Close()
	if _, _, err := good(ctx, client, b.asset(pictures.Small, thumbnail)); err != nil {
		return err
	}
	for _, bomb := range pictures.Bombs() {
		var took []float64
		refused := true
		status := 0
		for range 30 {
			sample := client.Get(ctx, "/assets/"+bomb.Key+"?"+thumbnail, nil, time.Now())
			took, status = append(took, milliseconds(sample.Took)), sample.Status
			refused = refused && status >= 400 && status < 500
		}
		p50 := traffic.Median(took)
		b.report.Holds(bomb.Name, fmt.Sprintf("4xx in under %d ms", bombLimit), refused && p50 < bombLimit,
			fmt.Sprintf("%d in %.2f ms", status, p50), spread("%.2f", took))
	}
	return ctx.Err()
}
