package redisbell

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Depths is the length of each queue's list, for a scheduler: fleet.Depths. It
// asks even when the breaker is open, because a scheduler comes once a minute
// and has to know whether Redis is away.
func (b *Bell) Depths(ctx context.Context, queues []string) (map[string]int64, error) {
	if len(queues) == 0 {
		return map[string]int64{}, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read depths in redis: %w", err)
	}
	lengths := make([]*redis.IntCmd, len(queues))
	err := b.ask(ctx, b.timeout, true, func(ctx context.Context, c *redis.Client) error {
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, queue := range queues {
				lengths[i] = p.LLen(ctx, b.key(queue))
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read depths in redis: %w", err)
	}
	depths := make(map[string]int64, len(queues))
	for i, queue := range queues {
		depths[queue] = lengths[i].Val()
	}
	return depths, nil
}
