package redisbell

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-media/spillway/jobs"
)

const (
	// unblockEvery is how often the server is asked to end a wait. It has two
	// fifths of the time limit to say whether it has just given it a token.
	unblockEvery = 10 * time.Millisecond
	// leastWait keeps a wait from being 0, which is for ever in Redis.
	leastWait = 5 * time.Millisecond
	// leastSleep keeps waiting for Redis from being a busy loop.
	leastSleep = 20 * time.Millisecond
)

// Wait takes a token of one of the queues, blocking for about poll. While Redis
// is away it waits for rings of this process, and looks whether Redis is back.
func (b *Bell) Wait(ctx context.Context, queues []string, poll time.Duration) string {
	deadline := time.Now().Add(jobs.Jitter(poll, rand.Float64())) //nolint:gosec // jitter is no secret
	for ctx.Err() == nil && len(queues) > 0 && time.Now().Before(deadline) {
		if !b.answers(ctx) {
			_, until := b.breaker.state()
			if soonest := time.Now().Add(leastSleep); until.Before(soonest) {
				until = soonest // somebody else is asking
			}
			if b.sleep(ctx, queues, earlier(until, deadline)) {
				return "" // it was no token
			}
			continue
		}
		heard, next := b.quiet.audible(queues, time.Now(), deadline)
		if len(heard) == 0 {
			if b.sleep(ctx, queues, next) {
				return ""
			}
			continue
		}
		if queue, over := b.listen(ctx, queues, heard, next); over {
			return queue
		}
	}
	return ""
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// answers says whether it is worth waiting for Redis. A wait would be a poor
// way to find out, since its answer may take as long as it likes.
func (b *Bell) answers(ctx context.Context) bool {
	open, until := b.breaker.state()
	return !open || !time.Now().Before(until) && b.ping(ctx) == nil
}

// sleep waits for a ring in this process, and tells whether there was one.
func (b *Bell) sleep(ctx context.Context, queues []string, until time.Time) (rung bool) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return b.local.Wait(ctx, queues, max(2*time.Until(until), leastWait)) != ""
}

// outcome is what became of one wait in Redis.
type outcome struct {
	queue string // whose token was taken, if any
	err   error
}

// listen waits in Redis until the time is up, a token was taken, this process
// rang without Redis, or ctx ended. It is over unless only the time was up.
func (b *Bell) listen(ctx context.Context, queues, audible []string, until time.Time) (queue string, over bool) {
	turn, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	select {
	case b.waiting <- struct{}{}:
		defer func() { <-b.waiting }()
	case <-turn.Done():
		return "", false
	}
	client := b.ear.client.Load()
	blocking, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	hearing, done := context.WithCancel(ctx)
	answer := make(chan outcome, 1)
	go func() { // it has answered before listen returns
		defer done()
		answer <- b.block(blocking, client, audible, time.Until(until))
	}()
	rung := b.local.Wait(hearing, queues, 2*time.Until(until)+time.Minute) != ""
	got := b.collect(client, answer, cut)
	if got.err != nil && !errors.Is(got.err, errAway) {
		b.doubts.Add(1)
	}
	if got.queue != "" && ctx.Err() != nil {
		b.giveBack(ctx, got.queue)
		return "", true
	}
	return got.queue, rung || got.queue != "" || ctx.Err() != nil
}

// block is one BLPOP.
func (b *Bell) block(ctx context.Context, client *redis.Client, queues []string, wait time.Duration) outcome {
	turn, closed := b.breaker.closed()
	if !closed {
		return outcome{err: errAway}
	}
	wait = max(wait, leastWait)
	deadline, cancel := context.WithTimeout(ctx, wait+b.timeout)
	defer cancel()
	args := make([]any, 0, len(queues)+2)
	args = append(args, "BLPOP")
	for _, queue := range queues {
		args = append(args, b.key(queue))
	}
	reply, err := client.Do(deadline, append(args, wait.Seconds())...).StringSlice()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	if err != nil && ctx.Err() != nil {
		return outcome{err: err} // we cut it off ourselves
	}
	b.judge(turn, err)
	if err != nil || len(reply) == 0 {
		return outcome{err: err}
	}
	return outcome{queue: strings.TrimPrefix(reply[0], b.key(""))}
}

// collect gets the answer of a wait that is over or is to end. It asks the server
// to end it, because then the answer says whether a token was taken; a server
// that does not answer is cut off.
func (b *Bell) collect(client *redis.Client, answer <-chan outcome, cut context.CancelFunc) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), b.timeout*2/5)
	defer cancel()
	for ctx.Err() == nil {
		select {
		case got := <-answer:
			return got
		default:
		}
		if b.unblock(ctx) != nil {
			break
		}
		timer := time.NewTimer(unblockEvery)
		select {
		case got := <-answer:
			timer.Stop()
			return got
		case <-timer.C:
		}
	}
	cut()
	b.ear.drop(client)
	return <-answer
}

// unblock ends the wait in ear, if the server has seen it begin. A connection
// that is being made has no number yet; it will when this is tried again.
func (b *Bell) unblock(ctx context.Context) error {
	if open, _ := b.breaker.state(); open {
		return errAway
	}
	id := b.ear.id.Load()
	if id == 0 {
		return nil
	}
	return b.commands.client.Load().ClientUnblock(ctx, id).Err()
}

// giveBack returns a token that came as its taker left.
func (b *Bell) giveBack(ctx context.Context, queue string) {
	err := b.ask(ctx, b.timeout, false, func(ctx context.Context, c *redis.Client) error {
		return c.Eval(ctx, ringScript, []string{b.key(queue), b.early(queue)}, 1).Err()
	})
	if err != nil {
		b.doubts.Add(1)
	}
}
