package redisbell

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-media/spillway/jobs"
)

//go:embed ring.lua
var ringScript string

//go:embed took.lua
var tookScript string

//go:embed repair.lua
var repairScript string

// Config sets a Bell; zero values take the default in brackets.
type Config struct {
	// Prefix goes before every key, which is "queue:" and the queue's name ("").
	Prefix string
	// Timeout is for one exchange, connecting included (250 ms).
	Timeout time.Duration
}

const (
	defaultTimeout = 250 * time.Millisecond
	leastTimeout   = 10 * time.Millisecond
	mostTimeout    = time.Minute
	// repairTime is for the exchange of a repair, which may push a million.
	repairTime = 2 * time.Second
	// onItsWay is for how many time limits the ring for a job may come after its
	// claim: it has one, and the process that rings may be slow.
	onItsWay = 4
)

// Bell is a jobs.Doorbell. It is safe for concurrent use.
type Bell struct {
	// Immutable.
	prefix  string
	timeout time.Duration
	log     *slog.Logger

	commands *line // for all that is answered at once
	ear      *line // for the one that waits
	breaker  breaker
	quiet    quiet
	local    *jobs.ProcessBell // what this process hears without Redis
	waiting  chan struct{}     // holds one while somebody waits in ear

	rings, failures, repairs, drift, doubts atomic.Uint64
}

// Open makes a Bell of a redis:// or rediss:// URL. A server that is away is no
// error: it may come back. Close it.
func Open(ctx context.Context, url string, cfg Config, log *slog.Logger) (*Bell, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		// Its error may repeat the URL, and so a password.
		return nil, errors.New("open redis: its URL is not like redis://[user:password@]host[:port][/database], or rediss:// for TLS")
	}
	redis.SetLogger(silence{})
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Timeout < leastTimeout || cfg.Timeout > mostTimeout {
		return nil, fmt.Errorf("open redis: timeout: %v is neither 0 nor within %v to %v", cfg.Timeout, leastTimeout, mostTimeout)
	}
	b := &Bell{
		prefix: cfg.Prefix, timeout: cfg.Timeout, log: log.With("redis", options.Addr),
		commands: newLine(options, commandLines, cfg.Timeout), ear: newLine(options, 1, cfg.Timeout),
		local: jobs.NewProcessBell(), waiting: make(chan struct{}, 1),
	}
	if b.ping(ctx) == nil {
		b.log.Info("redis answers; it is told of jobs")
	}
	return b, nil
}

// Close ends all connections.
func (b *Bell) Close() error {
	return errors.Join(b.commands.close(), b.ear.close())
}

func (b *Bell) key(queue string) string   { return b.prefix + "queue:" + queue }
func (b *Bell) early(queue string) string { return b.prefix + "early:" + queue }

// Ring pushes n tokens. When Redis is away it wakes who waits in this process.
func (b *Bell) Ring(ctx context.Context, queue string, n int) {
	if n <= 0 {
		return
	}
	b.rings.Add(1)
	if b.quiet.forget(queue) {
		b.local.Ring(ctx, queue, 1)
	}
	err := b.ask(ctx, b.timeout, false, func(ctx context.Context, c *redis.Client) error {
		return c.Eval(ctx, ringScript, []string{b.key(queue), b.early(queue)}, n).Err()
	})
	if err != nil {
		b.local.Ring(ctx, queue, n)
	}
}

// Took pops the tokens of jobs that were claimed without them, and rings those
// again that led to nothing.
func (b *Bell) Took(ctx context.Context, more map[string]int) {
	claimed, sum := map[string]int{}, 0
	for queue, n := range more {
		sum += n
		if n > 0 {
			claimed[queue] = n
			b.quiet.forget(queue)
		}
	}
	b.local.Took(ctx, claimed)
	for queue, n := range more {
		if n < 0 && sum < 0 {
			b.quiet.mistrust(queue, time.Now())
		}
	}
	// Who is not told counts it; the next repair sets it right.
	_ = b.ask(ctx, b.timeout, false, func(ctx context.Context, c *redis.Client) error {
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for queue, n := range more {
				keys := []string{b.key(queue), b.early(queue)}
				if n > 0 {
					p.Eval(ctx, tookScript, keys, n, (onItsWay * b.timeout).Milliseconds())
				} else if n < 0 {
					p.Eval(ctx, ringScript, keys, -n)
				}
			}
			return nil
		})
		return err
	})
}

// Repair sets the depths by one script. It asks even when the breaker is open,
// because the one that reconciles comes rarely and its answer is waited for.
func (b *Bell) Repair(ctx context.Context, depths map[string]int64) (map[string]int64, error) {
	if len(depths) == 0 {
		return nil, nil
	}
	queues := slices.Sorted(maps.Keys(depths))
	keys, args := make([]string, 2*len(queues)), make([]any, len(queues))
	for i, queue := range queues {
		keys[i], keys[len(queues)+i], args[i] = b.key(queue), b.early(queue), depths[queue]
	}
	var by []int64
	err := b.ask(ctx, repairTime, true, func(ctx context.Context, c *redis.Client) (err error) {
		by, err = c.Eval(ctx, repairScript, keys, args...).Int64Slice()
		return err
	})
	if err == nil && len(by) != len(queues) {
		err = fmt.Errorf("%d depths were answered for %d queues", len(by), len(queues))
	}
	if err != nil {
		return nil, fmt.Errorf("repair depths in redis: %w", err)
	}
	changed := map[string]int64{}
	for i, queue := range queues {
		if by[i] != 0 {
			changed[queue] = by[i]
			b.repairs.Add(1)
			b.drift.Add(uint64(max(by[i], -by[i])))
		}
	}
	return changed, nil
}

// Stats tells how the bell is. Up is what the latest exchange said.
func (b *Bell) Stats() jobs.BellStats {
	open, _ := b.breaker.state()
	return jobs.BellStats{
		Kind: "redis", Up: !open, Rings: b.rings.Load(), Failures: b.failures.Load(),
		Repairs: b.repairs.Load(), Drift: b.drift.Load(), Doubts: b.doubts.Load(),
	}
}
