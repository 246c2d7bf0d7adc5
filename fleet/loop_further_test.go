package fleet_test

import (
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

// What else other fleets were reported for, each with the report.

// aws/karpenter-provider-aws#1730, kubernetes-sigs/karpenter#2657: limits were
// passed right after a restart, when what runs was not known yet.
func TestNothingIsLaunchedBeforeWhatRunsIsKnown(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) { c.Limits.Hourly = fleet.Cents(50) })
	c := l.world.Clouds["aws"]
	c.SetFaults(failing("Inventory", fleet.Throttled))
	c.Put("fleet-in-memory", 2, c.Offer(xlarge, "a", fleet.OnDemand, 0).Place)
	l.enqueue(40, time.Hour)
	l.restart()
	l.run(5)
	if n := calls(c, "Launch"); n != 0 {
		t.Fatalf("%d launches before the provider was listed", n)
	}
	c.SetFaults(nil)
	r := l.tick()
	if n := calls(c, "Launch"); n != 0 || len(kinds(r.Decisions, fleet.KindLaunch)) != 0 {
		t.Errorf("%d launches beside two machines of 20 cents an hour; the limit is 50:\n%s", n, l.story(6))
	}
}

// cristim/autospotting#347: retries ate the account's allowance of calls.
func TestAProviderThatThrottlesIsLeftAlone(t *testing.T) {
	for _, outcome := range []fleet.Outcome{fleet.Throttled, fleet.OverQuota, fleet.NoCapacity, fleet.Permanent} {
		t.Run(string(outcome), func(t *testing.T) {
			l := newLoop(t, nil)
			c := l.world.Clouds["aws"]
			c.SetFaults(failing("Launch", outcome))
			l.enqueue(40, time.Hour)
			l.run(120)
			// 3, 6, 12, 24 and from then on 30 minutes apart.
			if n := calls(c, "Launch"); n < 3 || n > 7 {
				t.Errorf("it was asked %d times in two hours", n)
			}
			if rows := l.rows(); len(rows) != 0 {
				t.Errorf("rows of machines that never were are left: %+v", rows)
			}
		})
	}
}

// googleapis/nodejs-compute#377, cloud-barista/cb-spider#1186,
// ionos-cloud/terraform-provider-ionoscloud#532: a launch is answered well, and
// then there is no machine.
func TestMachinesThatVanishAreNotAskedForEachMinute(t *testing.T) {
	l := newLoop(t, nil)
	c := l.world.Clouds["aws"]
	c.SetFaults(func(x fleettest.Call) fleettest.Fault { return fleettest.Fault{Vanish: x.Method == "Launch"} })
	l.enqueue(40, time.Minute)
	l.run(60)
	if n := calls(c, "Launch"); n < 2 || n > 12 {
		t.Errorf("it was asked %d times in an hour:\n%s", n, l.story(30))
	}
	c.SetFaults(nil)
	l.until("all jobs are done", func() bool { return l.store.Ended("succeeded") == 40 })
	l.until("all are gone", func() bool { return l.live() == 0 && len(l.rows()) == 0 })
}

// unraid/ci-runner-farm#25: a worker that had died was counted as idle capacity.
func TestAWorkerThatHasDiedIsReplaced(t *testing.T) {
	for _, policy := range []fleet.Policy{fleet.PolicySeed, fleet.PolicySteps, fleet.PolicyBacklog} {
		t.Run(string(policy), func(t *testing.T) {
			l := newLoop(t, func(c *fleet.Config) {
				c.Policy = policy
				c.Queues["media"] = fleet.Queue{MaxWorkers: 1, CloudEnabled: true}
			})
			w := l.active(time.Minute)
			l.world.Kill(w.ID)
			l.until("its jobs are done by another", func() bool { return l.store.Ended("succeeded") == 10 })
			l.until("all are gone", func() bool { return l.live() == 0 && len(l.rows()) == 0 })
		})
	}
}

// gitlab-org/gitlab#552226: a busy machine was removed because its period ended.
func TestABusyMachineWhoseTimeIsOverFinishesItsJob(t *testing.T) {
	l := newLoop(t, nil)
	l.ask(fleet.Request{Do: fleet.KindLaunch, Queue: "media", For: 20 * time.Minute})
	l.tick()
	l.enqueue(1, 45*time.Minute)
	l.until("its job is done", func() bool { return l.store.Ended("succeeded") == 1 })
	if n := len(l.of(fleet.KindLaunch)); n != 1 {
		t.Errorf("it took %d machines:\n%s", n, l.story(20))
	}
	l.until("it is gone", func() bool { return l.live() == 0 && len(l.rows()) == 0 })
}

// Whose machine ends itself soon drains while there is time for its jobs.
func TestAMachineAtTheEndOfItsLifeHasTimeForItsJobs(t *testing.T) {
	s := quiet()
	add(&s, cloud("a", func(w *fleet.Worker) { w.Request.MaxLife = 2 * time.Hour }))
	x := only(t, fleet.KindDrain, fleet.Decide(noon, settings(t), s))
	if left := time.Hour; x.Rule != "max_life" || x.Within < 30*time.Minute || x.Within >= left {
		t.Errorf("%s: it has %s of the %s that its machine has", x.Rule, x.Within, left)
	}
}
