package storetest

import (
	"math"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

func demandRules() []fleetRule {
	return []fleetRule{
		{"ready jobs are counted by band and by the routing table's rows", demandIsCounted},
		{"queues are answered in the order in which they are asked for", demandInOrder},
		{"the age is that of the job that became ready first", demandAges},
		{"arrivals are those of the last five minutes", arrivalsAreRecent},
		{"service times and failures are those of the latest attempts", attemptsAreRecent},
		{"machine time is shared among those whose jobs it ran", usageIsShared},
	}
}

func (f *fleetFixture) demand(queue string) fleet.QueueState {
	f.Helper()
	_, states, err := f.Fleet.Demand(f.ctx, []string{queue})
	f.must(err)
	if len(states) != 1 || states[0].Name != queue {
		f.Fatalf("the demand is %+v", states)
	}
	return states[0]
}

func demandIsCounted(f *fleetFixture) {
	const halfAnHour = 1800
	for _, spec := range []struct {
		priority  int
		estimated float64
		resumes   bool
	}{
		{1, 1, false}, {3, halfAnHour, false}, {3, halfAnHour + 1, true}, {4, 1, false}, {6, 1, true}, {7, 1, false},
		{10, halfAnHour, true}, {5, 9000, true}, {8, 9000, true}, {8, 9000, false}, {2, 9000, false},
	} {
		s := job("media", priority(spec.priority), taking(spec.estimated))
		s.Checkpointable = spec.resumes
		f.Jobs.Enqueue(s)
	}
	f.Jobs.Enqueue(job("media", after(time.Hour)))
	f.Jobs.Enqueue(job("images"))
	q := f.demand("media")
	f.equal("the rows of the routing table", q.Waits, fleet.Waits{Interactive: 2, Standard: 2, Bulk: 2, LongResumes: 2, LongFixed: 3})
	f.equal("the depths of bands", [3]int64{q.Bands[0].Depth, q.Bands[1].Depth, q.Bands[2].Depth}, [3]int64{4, 3, 4})
	f.Jobs.Register("vps-1", "media")
	f.Jobs.Claim("vps-1")
	q = f.demand("media")
	if q.Depth != 10 || q.Rows != 10 || q.Running != 1 || q.Source != "database" {
		f.Errorf("the queue is %+v", q)
	}
}

func demandInOrder(f *fleetFixture) {
	f.Jobs.Enqueue(job("ocr"))
	_, states, err := f.Fleet.Demand(f.ctx, []string{"ocr", "bulk", "images"})
	f.must(err)
	var names []string
	for _, q := range states {
		names = append(names, q.Name)
	}
	f.equal("the queues", names, []string{"ocr", "bulk", "images"})
	if states[0].Depth != 1 || states[1].Depth != 0 || states[1].Oldest != 0 || states[1].Service != 0 {
		f.Errorf("the demand is %+v", states)
	}
}

func demandAges(f *fleetFixture) {
	f.Jobs.Enqueue(job("ocr", priority(8)))
	f.Shift(5 * time.Minute)
	f.Jobs.Enqueue(job("ocr", priority(2)))
	f.Shift(time.Minute)
	q := f.demand("ocr")
	near := func(what string, got, want time.Duration) {
		if got < want || got > want+30*time.Second {
			f.Errorf("%s is %v; want %v", what, got, want)
		}
	}
	near("the age", q.Oldest, 6*time.Minute)
	near("the age of interactive jobs", q.Bands[fleet.Interactive].Oldest, time.Minute)
	near("the age of standard jobs", q.Bands[fleet.Standard].Oldest, 0)
	near("the age of bulk jobs", q.Bands[fleet.Bulk].Oldest, 6*time.Minute)
}

func arrivalsAreRecent(f *fleetFixture) {
	f.equal("arrivals in an empty database", f.demand("ocr").Arrivals, 0.0)
	for i := range 9 {
		f.Jobs.Enqueue(job("ocr"))
		if i == 2 {
			f.Shift(6 * time.Minute)
		}
	}
	f.Jobs.Enqueue(job("images"))
	if got, want := f.demand("ocr").Arrivals, 6.0/300; math.Abs(got-want) > 1e-9 {
		f.Errorf("arrivals are %v a second; want %v", got, want)
	}
	f.Shift(5*time.Minute + time.Second)
	f.equal("arrivals when nothing came", f.demand("ocr").Arrivals, 0.0)
}

func attemptsAreRecent(f *fleetFixture) {
	f.Jobs.Register("vps-1", "ocr", "images")
	run := func(queue string, took time.Duration, succeeds bool) {
		id := f.Jobs.Enqueue(job(queue))
		if got := f.Jobs.Claim("vps-1"); got != id {
			f.Fatalf("job %d was claimed; want %d", got, id)
		}
		f.Shift(took)
		f.Jobs.Finish("vps-1", id, succeeds)
	}
	run("images", time.Hour, false)
	for range 3 {
		run("ocr", 10*time.Second, true)
	}
	run("ocr", 30*time.Second, false)
	q := f.demand("ocr")
	if q.Finished != 4 || q.Failed != 1 || q.Service < 15*time.Second || q.Service > 17*time.Second {
		f.Errorf("of %d attempts %d failed and they took %v; want 4, 1 and 15s", q.Finished, q.Failed, q.Service)
	}
	for range 100 {
		run("ocr", time.Second, true)
	}
	q = f.demand("ocr")
	if q.Finished != 100 || q.Failed != 0 || q.Service > 2*time.Second {
		f.Errorf("of %d attempts %d failed and they took %v; want 100, 0 and 1s", q.Finished, q.Failed, q.Service)
	}
}

func usageIsShared(f *fleetFixture) {
	f.hire("w-1") // 4 slots for 123,456 an hour
	f.Jobs.Register("vps-1", "images")
	from := f.now()
	mine := f.Jobs.Enqueue(job("images", tenant("a")))
	f.Jobs.Claim("w-1")
	f.Jobs.Enqueue(job("bulk", tenant("b")))
	f.Jobs.Claim("w-1")
	f.Shift(time.Hour)
	f.Jobs.Finish("w-1", mine, true)
	free := f.Jobs.Enqueue(job("images", tenant("c")))
	if f.Jobs.Claim("vps-1") != free {
		f.Fatal("another job was claimed")
	}
	f.Shift(time.Hour)
	got, err := f.Fleet.Usage(f.ctx, from, f.now())
	f.must(err)
	for i := range got {
		if off := math.Mod(got[i].Seconds, 3600); off > 60 {
			f.Errorf("it took %v seconds", got[i].Seconds)
		}
		got[i].Seconds = math.Floor(got[i].Seconds / 3600)
		got[i].Amount /= 1000 // a second or so of the test is in it
	}
	f.equal("the usage in hours", got, []fleet.Usage{
		{Tenant: "a", Queue: "images", Jobs: 1, Seconds: 1, Amount: 30},
		{Tenant: "b", Queue: "bulk", Jobs: 1, Seconds: 2, Amount: 61},
	})
	half, err := f.Fleet.Usage(f.ctx, from.Add(-time.Hour), from.Add(30*time.Minute))
	f.must(err)
	if len(half) != 2 || half[0].Seconds > 1801 || half[1].Seconds > 1801 || half[0].Seconds < 1700 {
		f.Errorf("the usage of half an hour is %+v", half)
	}
}
