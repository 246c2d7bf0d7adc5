package simulate

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// Synthetic describes a made-up trace. Zero values give the moments of a real
// one, of picture generation over 24 days: 26,800 jobs, service times with a mean
// of 28.7 s and a 99th percentile of 106 s, some 64 jobs in the busiest minute, and
// an offered load (arrivals by mean service time, hour by hour) with a median of
// 0.22, a 95th percentile of 2.3 and a peak of 3.5 workers.
type Synthetic struct {
	Start time.Time // (1 June 2026, midnight UTC)
	Days  int       // (24)
	// Arrivals multiplies how many jobs come, Service how long they take (1).
	Arrivals, Service float64
	// Jobs is how many come in all, about; it takes the place of Arrivals.
	Jobs int
	// Shares says how the jobs are spread over queues (all in media).
	Shares []Share
	Seed   uint64 // (one with the moments above)
}

// Share is a queue's part of the jobs, by weight (1), and their priority (5).
type Share struct {
	Queue    string
	Weight   float64
	Priority int
}

// The shape of the made-up trace. Most of the time little comes, more by day than
// by night; seldom there are some hours of many jobs; and jobs come in batches.
const (
	naturalDays = 24
	naturalJobs = 26_823
	naturalSeed = 213 // of those tried, whose moments come closest

	meanService  = 28.7 // seconds
	sigmaService = 0.653
	leastService = 0.2

	quietLoad   = 0.31  // workers, at the height of the day
	quietHour   = 3     // UTC, when nothing comes
	rushPart    = 0.071 // of all time is rush
	rushMinutes = 110   // on average
	rushLow     = 2.0   // workers that a rush adds
	rushHigh    = 3.1
	batchTail   = 2.7 // a batch has k jobs or more with probability k^-tail
	batchMost   = 64
)

func (s Synthetic) withDefaults() Synthetic {
	s.Start = orElse(s.Start, time.Date(2026, time.June, 1, 0, 0, 0, 0, time.UTC))
	s.Days = orElse(s.Days, naturalDays)
	s.Seed = orElse(s.Seed, naturalSeed)
	s.Arrivals, s.Service = orElse(s.Arrivals, 1), orElse(s.Service, 1)
	if s.Jobs > 0 {
		s.Arrivals = float64(s.Jobs) / naturalJobs * naturalDays / float64(s.Days)
	}
	if len(s.Shares) == 0 {
		s.Shares = []Share{{Queue: "media"}}
	}
	s.Shares = slices.Clone(s.Shares)
	for i := range s.Shares {
		s.Shares[i].Weight = orElse(s.Shares[i].Weight, 1)
		s.Shares[i].Priority = orElse(s.Shares[i].Priority, 5)
	}
	return s
}

// Trace makes the jobs, the same each time that it is read.
func (s Synthetic) Trace() Trace {
	s = s.withDefaults()
	return func(yield func(fleet.PastJob, error) bool) {
		m := maker{Synthetic: s, size: meanBatch(), dice: rand.New(rand.NewPCG(s.Seed, 2))}
		for minute := range s.Days * 24 * 60 {
			for _, at := range m.minute(minute) {
				if !yield(m.job(minute, at), nil) {
					return
				}
			}
		}
	}
}

// maker is one reading of a made-up trace.
type maker struct {
	Synthetic
	dice *rand.Rand
	rush float64 // load that the present rush adds; 0 there is none
	left int     // minutes of it
	at   []float64
	size float64 // mean of batch
}

// minute tells when jobs come in it, in seconds.
func (m *maker) minute(n int) []float64 {
	m.at = m.at[:0]
	hour := float64(n%(24*60)) / 60
	load := quietLoad*math.Abs(math.Sin(math.Pi*(hour-quietHour)/24)) + m.rushing()
	rate := load / meanService * 60 / m.size * m.Arrivals
	for range m.poisson(rate) {
		first := m.dice.Float64() * 50
		for range m.batch() {
			m.at = append(m.at, first+m.dice.Float64()*10)
		}
	}
	slices.Sort(m.at)
	return m.at
}

// rushing is what the present rush adds, by the minute.
func (m *maker) rushing() float64 {
	switch {
	case m.left > 0:
		m.left--
	case m.dice.Float64() < rushPart/(1-rushPart)/rushMinutes:
		m.left = int(m.dice.ExpFloat64() * rushMinutes)
		m.rush = rushLow + m.dice.Float64()*(rushHigh-rushLow)
	default:
		m.rush = 0
	}
	return m.rush
}

func (m *maker) batch() int {
	return min(batchMost, int(math.Pow(1-m.dice.Float64(), -1/batchTail)))
}

// meanBatch is the mean of batch.
func meanBatch() float64 {
	sum := 0.0
	for k := 1; k <= batchMost; k++ {
		sum += math.Pow(float64(k), -batchTail)
	}
	return sum
}

// poisson draws a count; a large one by the normal distribution, which is then
// as good.
func (m *maker) poisson(mean float64) int {
	if mean > 50 {
		return max(0, int(math.Round(mean+math.Sqrt(mean)*m.dice.NormFloat64())))
	}
	n, p, limit := 0, m.dice.Float64(), math.Exp(-mean)
	for p > limit {
		n++
		p *= m.dice.Float64()
	}
	return n
}

func (m *maker) job(minute int, second float64) fleet.PastJob {
	mu := math.Log(meanService) - sigmaService*sigmaService/2
	service := max(leastService, math.Exp(mu+sigmaService*m.dice.NormFloat64())) * m.Service
	share := m.share()
	return fleet.PastJob{
		At:    m.Start.Add(time.Duration(minute)*time.Minute + time.Duration(second*float64(time.Second))),
		Queue: share.Queue, Priority: share.Priority, Service: time.Duration(service * float64(time.Second)),
	}
}

func (m *maker) share() Share {
	if len(m.Shares) == 1 {
		return m.Shares[0]
	}
	total := 0.0
	for _, s := range m.Shares {
		total += s.Weight
	}
	at := m.dice.Float64() * total
	for _, s := range m.Shares {
		if at -= s.Weight; at < 0 {
			return s
		}
	}
	return m.Shares[len(m.Shares)-1]
}
