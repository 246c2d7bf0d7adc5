package httpapi

import (
	"testing"
	"time"
)

func TestAClientIsWaitedForAsLongAsWhatItTookIsWorth(t *testing.T) {
	const stall = 30 * time.Second
	for name, c := range map[string]struct {
		rate, bytes int64
		blocked     time.Duration
		want        time.Duration
	}{
		"at first a stall":                               {1000, 0, 0, stall},
		"what was waited counts":                         {1000, 0, 20 * time.Second, 10 * time.Second},
		"what was taken is worth its time":               {1000, 15000, 40 * time.Second, 5 * time.Second},
		"never more at once, whatever was earned":        {1000, 1 << 30, time.Minute, stall},
		"nor when that is longer than a Duration can be": {1, 1 << 40, time.Second, stall},
		"when all is used up, no time":                   {1000, 1000, time.Hour, 0},
		"without a rate only a stall ends the patience":  {0, 1000, time.Hour, stall},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (patience{stall, c.rate}).left(c.bytes, c.blocked); got != c.want {
				t.Errorf("left %s, want %s", got, c.want)
			}
		})
	}
}
