package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/store/redisbell"
)

// repair is what setting five queues right takes.
type repair struct {
	drift int64
	took  time.Duration
}

func repairs(ctx context.Context, o options, s *services) ([]repair, error) {
	bell, err := redisbell.Open(ctx, s.redis.URL, redisbell.Config{}, silent())
	if err != nil {
		return nil, err
	}
	defer func() { _ = bell.Close() }()
	drifts := []int64{0, 1_000, 100_000, 1_000_000}
	if o.short {
		drifts = drifts[:3]
	}
	var rows []repair
	for _, drift := range drifts {
		depths := map[string]int64{}
		for _, queue := range []string{"images", "documents", "ocr", "media", "bulk"} {
			depths[queue] = 1000 + drift/5
		}
		base := map[string]int64{}
		for queue := range depths {
			base[queue] = 1000
		}
		if _, err := bell.Repair(ctx, base); err != nil {
			return nil, err
		}
		began := time.Now()
		if _, err := bell.Repair(ctx, depths); err != nil {
			return nil, fmt.Errorf("repair a drift of %d: %w", drift, err)
		}
		rows = append(rows, repair{drift, time.Since(began)})
	}
	return rows, nil
}
