package redisbell

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// errAway is what the breaker answers in place of the server.
var errAway = errors.New("redis did not answer lately and is not asked")

// commandLines is how many connections a process has for short commands: each
// takes well under a millisecond.
const commandLines = 4

// line is a client that can be replaced. After a failover its connections may
// hang for ever, and each would cost somebody a time-out to find out.
type line struct {
	options redis.Options
	client  atomic.Pointer[redis.Client]
	id      atomic.Int64 // of the latest connection, as the server numbers them; 0: not told
	closed  atomic.Bool
}

func newLine(from *redis.Options, size int, timeout time.Duration) *line {
	l := &line{options: *from}
	o := &l.options
	o.Protocol = 2 // nothing is pushed to us
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.MaxRetries, o.DialerRetries = -1, 1 // a retry is the breaker's to allow
	o.DialTimeout = timeout
	// Each call has a deadline of its own, and that alone counts.
	o.ContextTimeoutEnabled, o.ReadTimeout, o.WriteTimeout = true, -1, -1
	o.PoolSize, o.MaxActiveConns, o.MinIdleConns = size, size, 0
	o.PoolTimeout = timeout
	o.OnConnect = func(ctx context.Context, cn *redis.Conn) error {
		id, err := cn.ClientID(ctx).Result()
		if err != nil {
			id = 0 // a server that refuses it is used all the same
		}
		l.id.Store(id)
		return nil
	}
	l.client.Store(redis.NewClient(&l.options))
	return l
}

// drop replaces c, if nobody else has yet, and ends its connections at once.
func (l *line) drop(c *redis.Client) {
	if l.closed.Load() {
		return
	}
	next := redis.NewClient(&l.options)
	if l.client.CompareAndSwap(c, next) {
		_ = c.Close() // it is of no more use
	} else {
		_ = next.Close() // it was never used
	}
}

func (l *line) close() error {
	l.closed.Store(true)
	return l.client.Load().Close()
}

// ask has one exchange with the server, unless the breaker is open. It goes on
// when ctx ends, because half an exchange is worse than one that takes limit.
func (b *Bell) ask(ctx context.Context, limit time.Duration, insist bool, exchange func(context.Context, *redis.Client) error) error {
	turn, allowed := b.breaker.allow(time.Now(), insist)
	if !allowed {
		b.failures.Add(1)
		return errAway
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	client := b.commands.client.Load()
	err := exchange(ctx, client)
	b.judge(turn, err)
	return err
}

func (b *Bell) ping(ctx context.Context) error {
	return b.ask(ctx, b.timeout, false, func(ctx context.Context, c *redis.Client) error { return c.Ping(ctx).Err() })
}

// judge tells the breaker, and the log when things have changed.
func (b *Bell) judge(turn int, err error) {
	if err == nil {
		if b.breaker.ok(turn) {
			b.log.Info("redis is back")
		}
		return
	}
	b.failures.Add(1)
	counts, away := b.breaker.fail(turn, time.Now(), rand.Float64()) //nolint:gosec // jitter is no secret
	if counts {
		b.commands.drop(b.commands.client.Load())
		b.ear.drop(b.ear.client.Load())
	}
	if away {
		b.log.Warn("redis is away; workers poll", "error", err)
	}
}

// silence is the logger of the client library: what matters is in its errors.
type silence struct{}

// Printf implements its interface.
func (silence) Printf(context.Context, string, ...any) {}
