package traffic

import (
	"math/rand/v2"
	"time"
)

// Arrivals are the moments, from 0 to length, of independent arrivals at a
// mean rate a second. Equal seeds give equal moments.
func Arrivals(rate float64, length time.Duration, seed uint64) []time.Duration {
	if rate <= 0 {
		return nil
	}
	random := rand.New(rand.NewPCG(seed, 0x5b1a)) //nolint:gosec // a load that can be repeated, no secret
	moments := make([]time.Duration, 0, int(rate*length.Seconds())+16)
	at := 0.0
	for {
		at += random.ExpFloat64() / rate
		if at >= length.Seconds() {
			return moments
		}
		moments = append(moments, time.Duration(at*float64(time.Second)))
	}
}
