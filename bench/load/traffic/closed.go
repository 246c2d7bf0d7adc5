package traffic

import (
	"context"
	"sync"
	"time"
)

// Closed is a number of clients, each of which asks again once it was
// answered. Next gives them their targets and is called from all of them.
type Closed struct {
	Window
	Clients int
	Next    func() string
	// Honour makes refused clients wait as Retry-After says.
	Honour bool
	// Pause is the least time between a refusal and the next request of a
	// client that does not honour it.
	Pause time.Duration
}

// Run asks until the window is over and gives what came of it once the last
// answer is there. When ctx ends, so do the requests.
func (c Closed) Run(ctx context.Context, client *Client) []Sample {
	began := time.Now()
	each := make([][]Sample, c.Clients)
	var group sync.WaitGroup
	for i := range c.Clients {
		group.Go(func() { each[i] = c.one(ctx, client, began) })
	}
	group.Wait()
	var all []Sample
	for _, samples := range each {
		all = append(all, samples...)
	}
	return all
}

// one is the life of a client.
func (c Closed) one(ctx context.Context, client *Client, began time.Time) (samples []Sample) {
	for ctx.Err() == nil {
		now := time.Now()
		start := now.Sub(began)
		if start >= c.whole() {
			break
		}
		s := client.Get(ctx, c.Next(), nil, now)
		s.Start = start
		if ctx.Err() == nil {
			samples = append(samples, s)
		}
		if s.Refused() {
			Wait(ctx, min(c.patience(s), c.whole()-s.end()))
		}
	}
	return samples
}

func (c Closed) patience(s Sample) time.Duration {
	if c.Honour && s.Retry > 0 {
		return time.Duration(s.Retry) * time.Second
	}
	return c.Pause
}
