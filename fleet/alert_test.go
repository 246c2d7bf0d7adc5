package fleet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
)

// story is a snapshot that is decided on and remembered tick by tick, the way
// the scheduler does, with channels that can fail.
type story struct {
	t    *testing.T
	now  time.Time
	cfg  fleet.Config
	snap fleet.Snapshot
	deaf bool // the channels take nothing
}

func newStory(t *testing.T) *story {
	t.Helper()
	cfg, err := fleet.Parse(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &story{t: t, now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC), cfg: cfg}
	for _, name := range []string{"bulk", "documents", "images", "media", "ocr"} {
		s.snap.Queues = append(s.snap.Queues, fleet.QueueState{Name: name})
	}
	s.snap.Workers = []fleet.Worker{{
		ID: "vps-1", Place: fleet.Place{Provider: "vps", Market: fleet.VPS}, Queues: []string{"bulk", "documents", "images", "media", "ocr"},
		Status: fleet.Active, RegisteredAt: s.now.Add(-time.Hour), Slots: 4,
	}}
	return s
}

func (s *story) queue(name string) *fleet.QueueState {
	for i := range s.snap.Queues {
		if s.snap.Queues[i].Name == name {
			return &s.snap.Queues[i]
		}
	}
	s.t.Fatalf("no queue %s", name)
	return nil
}

// tick passes a minute, or what is given, and answers the notices of alerts.
func (s *story) tick(after time.Duration) []fleet.Notice {
	s.now = s.now.Add(after)
	s.snap.At = s.now
	for i := range s.snap.Workers {
		if w := &s.snap.Workers[i]; w.CPUAt.IsZero() {
			w.LastHeartbeat = s.now
		}
	}
	done := fleet.Decide(s.now, s.cfg, s.snap)
	var out []fleet.Notice
	for i, d := range done {
		done[i].ID = fmt.Sprintf("d%d", i)
		if d.Kind == fleet.KindAlert {
			out = append(out, *d.Alert)
			done[i].Failed = s.deaf
		}
	}
	s.snap.Memory = fleet.Remember(s.now, s.cfg, s.snap, done)
	return out
}

// keys are what is told: "warning queue_depth/ocr", with "over" when resolved.
func keys(notices []fleet.Notice) []string {
	var out []string
	for _, n := range notices {
		text := string(n.Level) + " " + n.Key
		if n.Resolved {
			text = "over " + n.Key
		}
		out = append(out, text)
	}
	return out
}

func (s *story) expect(after time.Duration, want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, keys(s.tick(after))); diff != "" {
		s.t.Errorf("at %s (-want +got):\n%s", s.now.Format("15:04:05"), diff)
	}
}

// The rows of the contract's table of metrics, each just under, at and over its
// threshold and its duration.

func TestMetricQueueDepthOver50For10Minutes(t *testing.T) {
	for _, c := range []struct {
		name  string
		depth int64
		held  time.Duration
		want  []string
	}{
		{"49 jobs for an hour", 49, time.Hour, nil},
		{"50 jobs for an hour", 50, time.Hour, nil},
		{"51 jobs for a second less than 10 minutes", 51, 10*time.Minute - time.Second, nil},
		{"51 jobs for 10 minutes", 51, 10 * time.Minute, []string{"warning queue_depth/ocr"}},
		{"51 jobs for 10 minutes and a second", 51, 10*time.Minute + time.Second, []string{"warning queue_depth/ocr"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t)
			s.queue("ocr").Depth = c.depth
			s.expect(0)
			s.expect(c.held, c.want...)
		})
	}
	t.Run("a dip begins the time anew", func(t *testing.T) {
		s := newStory(t)
		s.queue("ocr").Depth = 51
		s.expect(0)
		s.queue("ocr").Depth = 50
		s.expect(9 * time.Minute)
		s.queue("ocr").Depth = 51
		s.expect(time.Minute)
		s.expect(9 * time.Minute)
		s.expect(time.Minute, "warning queue_depth/ocr")
	})
	t.Run("two queues are two alerts", func(t *testing.T) {
		s := newStory(t)
		s.queue("ocr").Depth, s.queue("bulk").Depth = 51, 500
		s.expect(0)
		s.expect(10*time.Minute, "warning queue_depth/bulk", "warning queue_depth/ocr")
	})
}

func TestMetricOldestJobOver15MinutesForPriority1To3(t *testing.T) {
	for _, c := range []struct {
		name string
		band int
		age  time.Duration
		want []string
	}{
		{"a second less than 15 minutes", fleet.Interactive, 15*time.Minute - time.Second, nil},
		{"15 minutes", fleet.Interactive, 15 * time.Minute, nil},
		{"a second more than 15 minutes", fleet.Interactive, 15*time.Minute + time.Second, []string{"warning job_age/images"}},
		{"an hour at priority 4 to 6", fleet.Standard, time.Hour, nil},
		{"an hour at priority 7 to 10", fleet.Bulk, time.Hour, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t)
			s.queue("images").Bands[c.band] = fleet.Band{Depth: 1, Oldest: c.age}
			s.expect(0, c.want...)
		})
	}
}

func TestMetricWorkerCPUOver90For10Minutes(t *testing.T) {
	for _, c := range []struct {
		name    string
		percent float64
		held    time.Duration
		stale   time.Duration
		want    []string
	}{
		{"89.9 % for an hour", 89.9, time.Hour, 0, nil},
		{"90 % for an hour", 90, time.Hour, 0, nil},
		{"90.1 % for a second less than 10 minutes", 90.1, 10*time.Minute - time.Second, 0, nil},
		{"90.1 % for 10 minutes", 90.1, 10 * time.Minute, 0, []string{"warning worker_cpu/vps-1"}},
		{"a reading of six minutes ago says nothing", 99, 10 * time.Minute, 6 * time.Minute, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t)
			w := &s.snap.Workers[0]
			w.CPUPercent, w.CPUAt, w.LastHeartbeat = c.percent, s.now.Add(-c.stale), s.now
			s.expect(0)
			at := s.now.Add(c.held)
			w.CPUAt, w.LastHeartbeat = at.Add(-c.stale), at
			s.expect(c.held, c.want...)
		})
	}
}

func TestMetricFailuresOver10PercentOfTheLast100(t *testing.T) {
	for _, c := range []struct {
		name             string
		failed, finished int
		want             []string
	}{
		{"9 of 100", 9, 100, nil},
		{"10 of 100", 10, 100, nil},
		{"11 of 100", 11, 100, []string{"critical failure_rate/media"}},
		{"the only attempt of a new queue", 1, 1, nil},
		{"3 of 19, too few for a rate", 3, 19, nil},
		{"3 of 20", 3, 20, []string{"critical failure_rate/media"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t)
			s.queue("media").Failed, s.queue("media").Finished = c.failed, c.finished
			s.expect(0, c.want...)
		})
	}
}

func TestMetricSpendOver80PercentOfTheDailyLimit(t *testing.T) {
	for _, c := range []struct {
		name string
		day  fleet.Money
		want []string
	}{
		{"a ten-thousandth under alert_threshold_cents", fleet.Cents(3000) - 1, nil},
		{"at alert_threshold_cents", fleet.Cents(3000), []string{"warning spend_threshold"}},
		{"a ten-thousandth under 80 %", fleet.Cents(4000) - 1, []string{"warning spend_threshold"}},
		{"80 %", fleet.Cents(4000), []string{"warning spend_threshold"}},
		{"a ten-thousandth over 80 %", fleet.Cents(4000) + 1, []string{"warning daily_spend", "warning spend_threshold"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t)
			s.snap.Spend.Day = c.day
			s.expect(0, c.want...)
		})
	}
}

func TestMetricHeartbeatOver2Minutes(t *testing.T) {
	for _, c := range []struct {
		name string
		ago  time.Duration
		want []string
	}{
		{"a second less than 2 minutes", 2*time.Minute - time.Second, nil},
		{"2 minutes", 2 * time.Minute, nil},
		{"a second more than 2 minutes", 2*time.Minute + time.Second, []string{"warning heartbeat/w-2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t)
			s.snap.Workers = append(s.snap.Workers, fleet.Worker{
				ID: "w-2", Place: fleet.Place{Provider: "vps", Market: fleet.VPS}, Status: fleet.Draining,
				RegisteredAt: s.now.Add(-time.Hour), LastHeartbeat: s.now.Add(-c.ago), CPUAt: s.now,
			})
			s.expect(0, c.want...)
		})
	}
	t.Run("a machine that boots is not expected to beat", func(t *testing.T) {
		s := newStory(t)
		s.snap.Workers = append(s.snap.Workers, fleet.Worker{ID: "w-2", Place: fleet.Place{Provider: "vps", Market: fleet.VPS}, Status: fleet.Provisioning, ProvisionedAt: s.now.Add(-5 * time.Minute)})
		s.expect(0)
	})
}

func TestAllWorkersUnhealthyIsCritical(t *testing.T) {
	s := newStory(t)
	s.snap.Workers[0].CPUAt, s.snap.Workers[0].LastHeartbeat = s.now, s.now.Add(-121*time.Second)
	s.expect(0, "critical workers_unhealthy", "warning heartbeat/vps-1")
}

func TestTheDailyLimitIsCritical(t *testing.T) {
	s := newStory(t)
	s.snap.Latch = &fleet.Latch{At: s.now, Spent: fleet.Cents(4950), Limit: fleet.Cents(5000)}
	s.expect(0, "critical daily_limit")
	s.snap.Latch = nil
	s.expect(time.Minute)
	s.expect(5*time.Minute, "over daily_limit")
}

func TestTheTopRowOfStepsTellsTheOperator(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy fleet.Policy
		depth  int64
		oldest time.Duration
		want   []string
	}{
		{"100 jobs", fleet.PolicySteps, 100, 0, nil},
		{"101 jobs", fleet.PolicySteps, 101, 0, []string{"warning steps_top/bulk"}},
		{"10 minutes", fleet.PolicySteps, 1, 10 * time.Minute, nil},
		{"a second more than 10 minutes", fleet.PolicySteps, 1, 10*time.Minute + time.Second, []string{"warning steps_top/bulk"}},
		{"101 jobs by another policy", fleet.PolicySeed, 101, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t)
			s.cfg.Policy = c.policy
			s.queue("bulk").Depth, s.queue("bulk").Rows, s.queue("bulk").Oldest = c.depth, c.depth, c.oldest
			s.expect(0, c.want...)
		})
	}
}

func TestComplaint22AFileThatIsRefusedIsToldUntilItIsMended(t *testing.T) {
	s := newStory(t)
	s.snap.Refused = `queues.media.max_worker: is not known; is "max_workers" meant?`
	told := s.tick(0)
	if diff := cmp.Diff([]string{"warning settings"}, keys(told)); diff != "" {
		t.Fatal(diff)
	}
	if !strings.HasSuffix(told[0].Sentence, s.snap.Refused) {
		t.Error(told[0].Sentence)
	}
	s.expect(time.Minute)
	s.snap.Refused = ""
	s.expect(time.Minute)
	s.expect(5*time.Minute, "over settings")
}

func TestRefusalsThatWaitingDoesNotMendAreTold(t *testing.T) {
	for outcome, want := range map[fleet.Outcome][]string{
		fleet.OverQuota: {"warning provider/aws"}, fleet.Permanent: {"warning provider/aws"},
		fleet.NoCapacity: nil, fleet.Throttled: nil,
	} {
		t.Run(string(outcome), func(t *testing.T) {
			s := newStory(t)
			s.snap.Memory.CoolOffs = []fleet.CoolOff{{Place: fleet.Place{Provider: "aws"}, Until: s.now.Add(time.Minute), Outcome: outcome, Times: 1}}
			s.expect(0, want...)
		})
	}
}

// What becomes of an alert.

func TestAnAlertThatGoesOnIsToldOnceInItsQuietPeriod(t *testing.T) {
	s := newStory(t)
	s.snap.Spend.Day = fleet.Cents(3500)
	s.expect(0, "warning spend_threshold")
	for range 59 {
		s.expect(time.Minute)
	}
	s.expect(time.Minute, "warning spend_threshold")
	s.expect(time.Minute)
}

func TestAnAlertIsResolvedOnceItHasBeenOverForFiveMinutes(t *testing.T) {
	s := newStory(t)
	s.queue("images").Bands[fleet.Interactive].Oldest = 16 * time.Minute
	s.expect(0, "warning job_age/images")
	s.queue("images").Bands[fleet.Interactive].Oldest = 0
	s.expect(20 * time.Minute)
	s.expect(5*time.Minute - time.Second)
	notices := s.tick(time.Second)
	if len(notices) != 1 || !notices[0].Resolved || notices[0].Queue != "images" || notices[0].Sentence != "Resolved after 20 minutes: age of interactive jobs of queue images" {
		t.Errorf("got %+v", notices)
	}
	s.expect(time.Minute)
	s.expect(time.Hour)
}

func TestAnAlertThatFlapsIsToldOnce(t *testing.T) {
	s := newStory(t)
	told := 0
	for i := range 50 {
		s.queue("images").Bands[fleet.Interactive].Oldest = time.Duration(14+2*(i%2)) * time.Minute
		told += len(s.tick(time.Minute))
	}
	if told != 1 {
		t.Errorf("told %d times in 50 minutes", told)
	}
}

func TestWhatTheChannelsDidNotTakeIsToldAgainAtTheNextTick(t *testing.T) {
	s := newStory(t)
	s.deaf = true
	s.snap.Spend.Day = fleet.Cents(3500)
	s.expect(0, "warning spend_threshold")
	s.expect(time.Minute, "warning spend_threshold")
	s.deaf = false
	s.expect(time.Minute, "warning spend_threshold")
	s.expect(time.Minute)
	s.snap.Spend.Day, s.deaf = 0, true
	s.expect(time.Minute)
	s.expect(5*time.Minute, "over spend_threshold")
	s.deaf = false
	s.expect(time.Minute, "over spend_threshold")
	s.expect(time.Minute)
}

func TestReport26WhatCannotBeSeenIsNeitherOverNorNew(t *testing.T) {
	s := newStory(t)
	s.queue("ocr").Depth = 51
	s.expect(0)
	s.expect(10*time.Minute, "warning queue_depth/ocr")
	s.snap.Faults = []fleet.Fault{{Source: "database", Reason: "no answer in time", Times: 1}}
	s.snap.Queues, s.snap.Workers = nil, nil
	s.expect(time.Minute, "warning observation/database")
	for range 30 {
		s.expect(time.Minute)
	}
}

func TestComplaint12AFailedObservationIsTold(t *testing.T) {
	s := newStory(t)
	s.snap.Faults = []fleet.Fault{{Source: "redis", Reason: "no answer in time", Times: 1}}
	s.expect(0, "warning observation/redis")
	s.snap.Faults = nil
	s.expect(time.Minute)
	s.expect(5*time.Minute, "over observation/redis")
}

func TestDepthsThatDifferForTwoTicksAreTold(t *testing.T) {
	for ticks, want := range map[int][]string{1: nil, 2: {"warning queue_drift/ocr"}, 3: {"warning queue_drift/ocr"}} {
		s := newStory(t)
		s.queue("ocr").Depth, s.queue("ocr").Rows, s.queue("ocr").Source = 3, 4, "redis"
		s.snap.Memory.Drift = map[string]int{"ocr": ticks}
		s.expect(0, want...)
	}
}

func TestTheGravestIsToldFirstAndNotAllAtOnce(t *testing.T) {
	s := newStory(t)
	for i := range 120 {
		s.snap.Workers = append(s.snap.Workers, fleet.Worker{
			ID: fmt.Sprintf("v-%03d", i), Place: fleet.Place{Provider: "vps", Market: fleet.VPS}, Status: fleet.Active,
			RegisteredAt: s.now.Add(-time.Hour), LastHeartbeat: s.now.Add(-time.Hour), CPUAt: s.now,
		})
	}
	s.queue("ocr").Failed, s.queue("ocr").Finished = 50, 100
	seen := map[string]bool{}
	for i, want := range []int{50, 50, 21, 0} {
		notices := s.tick(time.Second)
		if len(notices) != want {
			t.Errorf("tick %d tells %d, not %d", i, len(notices), want)
		}
		if i == 0 && notices[0].Level != fleet.Critical {
			t.Errorf("the first is %s", notices[0].Key)
		}
		for _, n := range notices {
			if seen[n.Key] {
				t.Errorf("%s is told twice", n.Key)
			}
			seen[n.Key] = true
		}
	}
}

// What happened.

func TestLaunchesAndEndsAreToldOnceTheyAreDone(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	done := []fleet.Decision{
		{ID: "a", Kind: fleet.KindLaunch, WorkerID: "w-a", Provider: "aws", Queue: "ocr", Sentence: "Scaling up ocr: depth=12, oldest=3s"},
		{ID: "b", Kind: fleet.KindLaunch, WorkerID: "w-b", Provider: "aws", Queue: "ocr", Failed: true},
		{ID: "c", Kind: fleet.KindTerminate, WorkerID: "w-c", Provider: "aws", Sentence: "Scaling down worker w-c: idle for 12 minutes"},
		{ID: "d", Kind: fleet.KindTerminate, WorkerID: "w-d", Provider: "aws", Rule: fleet.RuleRegistration, Sentence: "Worker w-d did not register"},
		{ID: "e", Kind: fleet.KindTerminate, WorkerID: "w-e", Provider: "aws"},
		{ID: "f", Kind: fleet.KindHold, Queue: "ocr"},
		{ID: "g", Kind: fleet.KindForget, WorkerID: "w-e", Rule: "machine_gone", Sentence: "its end was told when it was asked for"},
		{ID: "h", Kind: fleet.KindForget, WorkerID: "w-h", Rule: "machine_gone", Sentence: "Worker w-h is gone"},
		{ID: "i", Kind: fleet.KindForget, WorkerID: "w-i", Rule: "never_launched"},
	}
	s := newStory(t)
	s.snap.Workers = append(s.snap.Workers, fleet.Worker{ID: "w-e", Place: fleet.Place{Provider: "vps", Market: fleet.VPS}, Status: fleet.Draining, TerminateAt: now})
	s.snap.Memory = fleet.Remember(s.now, s.cfg, s.snap, done)
	s.snap.Workers = s.snap.Workers[:1]
	s.expect(time.Minute, "warning worker_not_registered/d", "info worker_launched/a", "info worker_terminated/c", "info worker_terminated/h")
	s.expect(time.Minute)
}

func TestEventsThatNobodyTakesAreBounded(t *testing.T) {
	s := newStory(t)
	var done []fleet.Decision
	for i := range 500 {
		done = append(done, fleet.Decision{ID: fmt.Sprint(i), Kind: fleet.KindLaunch, WorkerID: fmt.Sprint("w", i)})
	}
	s.snap.Memory = fleet.Remember(s.now, s.cfg, s.snap, done)
	if n := len(s.snap.Memory.Events); n != 200 {
		t.Errorf("%d are kept", n)
	}
	s.deaf = true
	s.tick(24 * time.Hour)
	if n := len(s.snap.Memory.Events); n != 0 {
		t.Errorf("%d are kept for more than a day", n)
	}
}

func TestAnAlertIsADecisionWithItsValueAndThreshold(t *testing.T) {
	s := newStory(t)
	s.queue("media").Failed, s.queue("media").Finished = 11, 100
	for _, d := range fleet.Decide(s.now, s.cfg, s.snap) {
		if d.Kind != fleet.KindAlert || !strings.HasPrefix(d.Rule, "alert.failure") {
			continue
		}
		want := []fleet.Fact{{Name: "value", Value: "11 of 100"}, {Name: "threshold", Value: "10 %"}}
		if diff := cmp.Diff(want, d.Inputs); diff != "" || d.Queue != "media" || d.Sentence != "In queue media 11 of the last 100 attempts failed" {
			t.Errorf("%+v: %s", d, diff)
		}
		return
	}
	t.Error("there is none")
}

// Those who are told read why; what is listed over HTTP says no more than that.
func TestTheWordsOfAnErrorAreForThoseWhoAreTold(t *testing.T) {
	s := newStory(t)
	s.snap.At = s.now
	s.snap.Faults = []fleet.Fault{{Source: "provider:aws", Reason: "Get https://ec2.eu-west-3.example: denied", Times: 1}}
	for _, x := range fleet.Decide(s.now, s.cfg, s.snap) {
		if x.Kind != fleet.KindAlert || x.Alert.Name != "observation" {
			continue
		}
		const brief = "The scheduler cannot see provider:aws, and holds what hangs on it"
		if x.Sentence != brief || x.Alert.Sentence != brief+": Get https://ec2.eu-west-3.example: denied" {
			t.Errorf("listed: %s\ntold: %s", x.Sentence, x.Alert.Sentence)
		}
		return
	}
	t.Error("nobody is told")
}
