package fleet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCoolOffsDoubleUpToHalfAnHour(t *testing.T) {
	place := onDemand(1).Place
	fail := []Decision{{Kind: KindLaunch, Attempts: []Attempt{{Place: place, Outcome: string(NoCapacity)}}}}
	var m Memory
	now := noon()
	var got []time.Duration
	for range 6 {
		m.rememberCoolOffs(now, Snapshot{}, fail)
		got = append(got, m.CoolOffs[0].Until.Sub(now))
		now = m.CoolOffs[0].Until
	}
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	if d := cmp.Diff([]time.Duration{minutes(3), minutes(6), minutes(12), minutes(24), minutes(30), minutes(30)}, got); d != "" {
		t.Errorf("cool-offs (-want +got):\n%s", d)
	}
	m.rememberCoolOffs(now.Add(minutes(31)), Snapshot{}, nil)
	if len(m.CoolOffs) != 0 {
		t.Error("a failure is remembered for ever")
	}
}

func TestComplaint18AFailureCoolsOffWhatItIsAbout(t *testing.T) {
	place := onDemand(1).Place
	all := Place{Provider: "aws"}
	tests := []struct {
		name    string
		attempt Attempt
		want    []CoolOff
	}{
		{"no capacity is one type, zone and market", Attempt{Outcome: string(NoCapacity)}, []CoolOff{{place, noon().Add(3 * time.Minute), NoCapacity, 1}}},
		{"a quota is the whole provider", Attempt{Outcome: string(OverQuota)}, []CoolOff{{all, noon().Add(3 * time.Minute), OverQuota, 1}}},
		{"so is throttling", Attempt{Outcome: string(Throttled)}, []CoolOff{{all, noon().Add(3 * time.Minute), Throttled, 1}}},
		{"for as long as the provider says", Attempt{Outcome: string(Throttled), After: 7 * time.Minute}, []CoolOff{{all, noon().Add(7 * time.Minute), Throttled, 1}}},
		{"a mistake in the settings is long", Attempt{Outcome: string(Permanent)}, []CoolOff{{all, noon().Add(30 * time.Minute), Permanent, 1}}},
		{"a lost answer says nothing about the place", Attempt{Outcome: string(Unknown)}, nil},
		{"a success is none", Attempt{Outcome: OutcomeDone}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var m Memory
			test.attempt.Place = place
			m.rememberCoolOffs(noon(), Snapshot{}, []Decision{{Kind: KindLaunch, Attempts: []Attempt{test.attempt}}})
			if d := cmp.Diff(test.want, m.CoolOffs); d != "" {
				t.Errorf("cool-offs (-want +got):\n%s", d)
			}
		})
	}
}

func TestASuccessEndsTheCountOfFailures(t *testing.T) {
	place, other := onDemand(1).Place, Place{Provider: "google"}
	m := Memory{CoolOffs: []CoolOff{{place, noon(), NoCapacity, 4}, {Place{Provider: "aws"}, noon(), Throttled, 2}, {other, noon(), Throttled, 1}}}
	m.rememberCoolOffs(noon(), Snapshot{}, []Decision{{Attempts: []Attempt{{Place: place, Outcome: OutcomeDone}}}})
	if d := cmp.Diff([]CoolOff{{other, noon(), Throttled, 1}}, m.CoolOffs); d != "" {
		t.Errorf("cool-offs (-want +got):\n%s", d)
	}
}

func TestAMachineThatNeverRegisteredCoolsItsPlaceOffOnce(t *testing.T) {
	w := machine("a", 20)
	w.Status, w.RegisteredAt = Provisioning, time.Time{}
	done := []Decision{{Kind: KindTerminate, Rule: RuleRegistration, WorkerID: "a", Outcome: OutcomeDone}}
	var m Memory
	m.rememberCoolOffs(noon(), seen(w), done)
	w.TerminateAt, w.Status = noon(), Draining
	m.rememberCoolOffs(noon().Add(time.Minute), seen(w), done)
	if d := cmp.Diff([]CoolOff{{w.Place, noon().Add(3 * time.Minute), Unregistered, 1}}, m.CoolOffs); d != "" {
		t.Errorf("cool-offs (-want +got):\n%s", d)
	}
}

func TestAMachineThatWasGoneBeforeItsWorkerCameCoolsItsPlaceOff(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Worker)
		want   int
	}{
		"it came to nothing":        {func(w *Worker) { w.Status, w.RegisteredAt = Provisioning, time.Time{} }, 1},
		"it was ended on purpose":   {func(w *Worker) { w.Status, w.TerminateAt = Draining, noon() }, 0},
		"its worker has been there": {func(*Worker) {}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := machine("a", 20)
			c.change(&w)
			var m Memory
			m.rememberCoolOffs(noon(), seen(w), []Decision{{Kind: KindForget, Rule: ruleGone, WorkerID: "a", Outcome: OutcomeDone}})
			if len(m.CoolOffs) != c.want {
				t.Errorf("cool-offs are %+v, want %d", m.CoolOffs, c.want)
			}
		})
	}
}

func TestAPlaceWhoseWorkersDoNotComeIsTriedAgainUntilOneDoes(t *testing.T) {
	w := machine("a", 20)
	w.Status, w.RegisteredAt = Provisioning, time.Time{}
	gone := Decision{Kind: KindForget, Rule: ruleGone, WorkerID: "a", Outcome: OutcomeDone}
	again := Decision{Kind: KindLaunch, Outcome: OutcomeDone, Attempts: []Attempt{{Place: w.Place, Outcome: OutcomeDone}}}
	var m Memory
	m.rememberCoolOffs(noon(), seen(w), []Decision{gone, again})
	m.rememberCoolOffs(noon(), seen(w), []Decision{gone, again})
	if d := cmp.Diff([]CoolOff{{w.Place, noon().Add(6 * time.Minute), Unregistered, 2}}, m.CoolOffs); d != "" {
		t.Errorf("after launches that came to nothing (-want +got):\n%s", d)
	}
	w.Status, w.RegisteredAt = Active, noon().Add(6*time.Minute)
	m.rememberCoolOffs(noon().Add(7*time.Minute), seen(w), nil)
	if len(m.CoolOffs) != 1 {
		t.Errorf("a worker that came before it was tried again left %+v", m.CoolOffs)
	}
	w.RegisteredAt = noon().Add(7 * time.Minute)
	m.rememberCoolOffs(noon().Add(7*time.Minute), seen(w), nil)
	if len(m.CoolOffs) != 0 {
		t.Errorf("a worker that came left %+v", m.CoolOffs)
	}
}
