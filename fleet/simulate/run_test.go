package simulate_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/simulate"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// trace is some jobs of one service time.
func trace(service time.Duration, at ...time.Duration) simulate.Trace {
	return func(yield func(fleet.PastJob, error) bool) {
		for _, a := range at {
			if !yield(fleet.PastJob{At: noon.Add(a), Queue: "media", Priority: 5, Service: service}, nil) {
				return
			}
		}
	}
}

func together(n int) []time.Duration { return make([]time.Duration, n) }

func run(t *testing.T, jobs simulate.Trace, cfg fleet.Config, o simulate.Options) simulate.Result {
	t.Helper()
	r, err := simulate.Run(t.Context(), jobs, cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(got, want time.Duration) bool {
	return got > want*98/100-time.Millisecond && got < want*102/100+time.Millisecond
}

func TestInVPSOnlyJobsWaitForOneAnotherAndNothingIsSpent(t *testing.T) {
	cfg := burst(fleet.PolicySeed, 4)
	cfg.Mode = fleet.VPSOnly
	r := run(t, trace(time.Minute, together(20)...), cfg, simulate.Options{})
	w := r.Total.Waits
	if r.Machines.Launches != 0 || r.Money.Spent != 0 || r.Money.Booked != 0 {
		t.Errorf("%d launches, %s", r.Machines.Launches, r.Money.Spent)
	}
	if !near(w.P50, 9*time.Minute) || w.Max != 19*time.Minute || w.Over != 14.0/20 {
		t.Errorf("twenty minutes of work, one after the other: %+v", w)
	}
	if len(r.Holds) == 0 || r.Holds[0].Name != "mode" {
		t.Errorf("why nothing was done: %v", r.Holds)
	}
}

func TestABurstWaitsForMachinesToBoot(t *testing.T) {
	// The first job is what the service time is known from.
	jobs := trace(10*time.Minute, append([]time.Duration{0}, slices.Repeat([]time.Duration{30 * time.Minute}, 12)...)...)
	r := run(t, jobs, burst(fleet.PolicyBacklog, 13), simulate.Options{Boot: 4 * time.Minute})
	if r.Machines.Launches != 12 || r.Machines.Peak != 12 {
		t.Errorf("%d launches, %d at once, for eleven jobs that wait", r.Machines.Launches, r.Machines.Peak)
	}
	// The tick of that minute was before the jobs came; the next one launches.
	if w := r.Total.Waits; w.P50 == 0 || w.Max != 5*time.Minute {
		t.Errorf("%+v, with a minute until the decision and four to boot", w)
	}
	if r.Total.Done != 13 || r.Total.Unfinished != 0 || r.Machines.StillRunning != 0 {
		t.Errorf("%+v, %+v", r.Total, r.Machines)
	}
}

func TestMoneyIsThatOfTheMachinesOwnTimes(t *testing.T) {
	cfg := burst(fleet.PolicySeed, 2)
	r := run(t, trace(time.Minute, together(30)...), cfg, simulate.Options{})
	price := cfg.Providers["aws"].Prices["c6i.xlarge"].OnDemand
	want := price.For(time.Duration(r.Machines.Hours * float64(time.Hour)))
	if diff := r.Money.Spent - want; diff < -10 || diff > 10 || r.Money.Spent == 0 {
		t.Errorf("%s for %.3f hours at %s", r.Money.Spent, r.Machines.Hours, price)
	}
	if diff := r.Money.Booked - r.Money.Spent; diff < -price.For(2*time.Minute) || diff > price.For(2*time.Minute) {
		t.Errorf("%s were booked, %s paid", r.Money.Booked, r.Money.Spent)
	}
	if diff := cmp.Diff(r.Total.Spent, r.Money.Spent); diff != "" {
		t.Errorf("queues and machines disagree: %s", diff)
	}
}

func TestComplaint07TheRuleDoesNotOvershootWhileMachinesBoot(t *testing.T) {
	for _, policy := range []fleet.Policy{fleet.PolicySeed, fleet.PolicySteps, fleet.PolicyBacklog} {
		for _, most := range []int{2, 4, 9} {
			cfg := burst(policy, most)
			cfg.ScaleUp.Cooldown = time.Minute
			r := run(t, trace(20*time.Minute, together(400)...), cfg, simulate.Options{Boot: 9 * time.Minute})
			if r.Machines.Peak != most-1 {
				t.Errorf("%s: %d machines beside the VPS; max_workers is %d", policy, r.Machines.Peak, most)
			}
		}
	}
}

func TestTheDailyLimitHoldsAndOnlyTheVPSGoesOn(t *testing.T) {
	cfg := burst(fleet.PolicyBacklog, 10)
	cfg.Limits.Daily = fleet.Cents(100)
	r := run(t, trace(time.Hour, together(200)...), cfg, simulate.Options{Tail: 20 * time.Hour})
	if r.Latch == nil || r.Money.MaxDay > cfg.Limits.Daily || r.Money.Spent > cfg.Limits.Daily {
		t.Errorf("latch %v, %s on a day, %s in all, of %s", r.Latch, r.Money.MaxDay, r.Money.Spent, cfg.Limits.Daily)
	}
	if r.Total.Unfinished == 0 || r.Total.Requeued == 0 || r.Machines.StillRunning != 0 {
		t.Errorf("%d are not done, %d were given back, %d machines run", r.Total.Unfinished, r.Total.Requeued, r.Machines.StillRunning)
	}
	if r.Total.Done+r.Total.Unfinished != r.Total.Jobs || r.Total.Waits.Jobs != r.Total.Jobs {
		t.Errorf("jobs are lost: %+v", r.Total)
	}
}

func TestSpotMachinesAreTakenAwayAndNoJobIsLost(t *testing.T) {
	cfg := burst(fleet.PolicyBacklog, 6)
	p := cfg.Providers["aws"]
	p.Spot, p.Prices = true, map[string]fleet.Price{"c6i.xlarge": {OnDemand: fleet.Cents(20), Spot: fleet.Cents(7)}}
	cfg.Providers["aws"] = p
	jobs := func(yield func(fleet.PastJob, error) bool) {
		for range 60 {
			if !yield(fleet.PastJob{At: noon, Queue: "media", Priority: 8, Service: 8 * time.Minute}, nil) {
				return
			}
		}
	}
	r := run(t, jobs, cfg, simulate.Options{Interruptions: 2, Shortage: 0.2})
	if r.Machines.SpotHours == 0 || r.Machines.Interrupted == 0 || r.Machines.Refused == 0 || r.Total.Requeued == 0 {
		t.Errorf("%+v, %d given back", r.Machines, r.Total.Requeued)
	}
	if r.Total.Done != 60 || r.Total.Unfinished != 0 {
		t.Errorf("%+v", r.Total)
	}
}

func TestTheSameSeedGivesTheSameResult(t *testing.T) {
	o := simulate.Options{Interruptions: 1, BootSpread: time.Minute, Seed: 3}
	jobs := simulate.Synthetic{Days: 2}.Trace()
	a, b := run(t, jobs, burst(fleet.PolicyBacklog, 5), o), run(t, jobs, burst(fleet.PolicyBacklog, 5), o)
	if diff := cmp.Diff(a, b, cmpopts.IgnoreUnexported(simulate.Result{}, simulate.QueueResult{})); diff != "" {
		t.Error(diff)
	}
}

func TestATraceThatCannotBeReplayedIsRefused(t *testing.T) {
	cfg := burst(fleet.PolicySeed, 2)
	other := func(yield func(fleet.PastJob, error) bool) { yield(fleet.PastJob{At: noon, Queue: "nobody"}, nil) }
	for want, jobs := range map[string]simulate.Trace{
		"there is no job in it":              trace(time.Second),
		"jobs must be in order of time":      trace(time.Second, time.Hour, 0),
		`in queue "nobody", which the setti`: other,
	} {
		if _, err := simulate.Run(t.Context(), jobs, cfg, simulate.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestTheReportShowsEveryResultAndEscapesNames(t *testing.T) {
	cases := []simulate.Case{{Name: "<b>one</b>", Config: burst(fleet.PolicySeed, 3)}, {Name: "two", Config: burst(fleet.PolicySteps, 3)}}
	results, err := simulate.Compare(t.Context(), simulate.Synthetic{Days: 1}.Trace(), cases, simulate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := simulate.NewReport("A replay", "Made up.", cases, results, simulate.Options{}).WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if strings.Contains(text, "<b>one") || !strings.Contains(text, "&lt;b&gt;one") {
		t.Error("a name is markup")
	}
	if n := strings.Count(text, "<svg"); n != 3+2*3 {
		t.Errorf("%d plots", n)
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error("a plot has no number")
	}
}
