package storetest

import (
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/jobs"
)

// historian is a store that a replay can be read from.
type historian interface{ History() fleet.History }

func pastIsListed(f *fixture) {
	from := f.now()
	slow := f.begin(priority(2), taking(2400), func(s *jobs.Spec) { s.Checkpointable = true })
	f.Shift(90 * time.Second)
	quick := f.begin(priority(7))
	f.Shift(10 * time.Second)
	f.finish(quick, failed())
	f.Shift(2 * time.Hour) // into another stretch of those that are asked for
	f.finish(slow, succeeded())
	f.begin() // runs
	f.one()   // waits
	until := f.now().Add(time.Second)

	past, err := f.Store.(historian).History().Past(f.ctx, from.Add(-time.Second), until)
	f.must(err)
	if len(past) != 2 {
		f.Fatalf("%d jobs: %+v", len(past), past)
	}
	f.equal("the first", past[0], fleet.PastJob{At: slow.EligibleAt, Queue: slow.Queue, Priority: 2,
		Service: past[0].Service, Estimate: 40 * time.Minute, Checkpointable: true})
	f.equal("the second", past[1], fleet.PastJob{At: quick.EligibleAt, Queue: quick.Queue, Priority: 7,
		Service: past[1].Service, Estimate: past[1].Estimate, Failed: true})
	near := func(got, want time.Duration) bool { return got >= want && got < want+time.Minute }
	if !near(past[0].Service, 2*time.Hour+100*time.Second) || !near(past[1].Service, 10*time.Second) {
		f.Errorf("they took %s and %s", past[0].Service, past[1].Service)
	}
	if past, err = f.Store.(historian).History().Past(f.ctx, from.Add(-time.Second), quick.StartedAt); err != nil || len(past) != 0 {
		f.Errorf("before anything ended: %+v, %v", past, err)
	}
}
