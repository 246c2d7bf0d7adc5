package h2

import (
	"testing"
	"time"
)

func TestAPaceIsWaitedForAsLongAsItIsWorth(t *testing.T) {
	const stall = 30 * time.Second
	for name, c := range map[string]struct {
		pace    pace
		rate    int64
		sharers int
		want    time.Duration
	}{
		"at first a stall":                               {pace{}, 1000, 1, stall},
		"never more at once, whatever was earned":        {pace{0, 1 << 40}, 1000, 1, stall},
		"nor when that is longer than a Duration can be": {pace{time.Second, 1 << 40}, 1, 250, stall},
		"what was waited counts":                         {pace{20 * time.Second, 0}, 1000, 1, 10 * time.Second},
		"what was taken is worth its time":               {pace{40 * time.Second, 15000}, 1000, 1, 5 * time.Second},
		"several share a rate":                           {pace{40 * time.Second, 15000}, 1000, 2, 20 * time.Second},
		"when all is used up, the least there is":        {pace{time.Hour, 1000}, 1000, 1, 1},
		"without a rate only a stall ends the patience":  {pace{time.Hour, 1000}, 0, 1, stall},
		"a connection without streams has one sharer":    {pace{20 * time.Second, 0}, 1000, 0, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.pace.left(stall, c.rate, c.sharers); got != c.want {
				t.Errorf("left %s, want %s", got, c.want)
			}
		})
	}
}
