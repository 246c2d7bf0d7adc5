package traffic

import (
	"context"
	"sync"
	"time"
)

// Open is arrivals at random at a fixed mean rate that wait for nobody. How
// long a request takes counts from when it was meant to be sent, so a stall
// of the server, or of this program, is in the figures of all it held up.
type Open struct {
	Window
	Rate float64 // requests a second
	Seed uint64
	Next func() string
}

// Run makes the requests and gives what came of them once all were answered.
func (o Open) Run(ctx context.Context, client *Client) []Sample {
	moments := Arrivals(o.Rate, o.whole(), o.Seed)
	samples := make([]Sample, len(moments))
	began := time.Now()
	var group sync.WaitGroup
	sent := 0
	for i, at := range moments {
		due := began.Add(at)
		if !Wait(ctx, time.Until(due)) {
			break
		}
		sent++
		target := o.Next()
		group.Go(func() {
			samples[i] = client.Get(ctx, target, nil, due)
			samples[i].Start = at
		})
	}
	group.Wait()
	return samples[:sent]
}
