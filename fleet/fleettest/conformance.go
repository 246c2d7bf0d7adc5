package fleettest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-media/spillway/fleet"
)

// Subject is a provider under test, with the world behind it. A function that is
// nil stands for what there is nothing of with this provider; its rules are not
// asked for.
type Subject struct {
	Provider fleet.Provider
	// Candidate is one that can be launched.
	Candidate fleet.Candidate
	// Settle lets the world go on a little. It is called until what was asked
	// for has come about.
	Settle func()
	// Secrets are in no error.
	Secrets []string

	// Refuse has the next call fail with an outcome.
	Refuse func(fleet.Outcome)
	// Lose has the next call carried out, and its answer lost.
	Lose func()
	// Hang has the next call get no answer.
	Hang func()
	// Many adds running machines to a fleet.
	Many func(fleetID string, n int)
	// FailPage has a page of the next inventory fail; 1 is the first.
	FailPage func(page int)
	// Interrupt ends a machine, or its worker, without anybody's call.
	Interrupt func(machineID string)
	// Stop leaves a machine stopped, with its disk paid for.
	Stop func(machineID string)
	// Disk adds a disk that belongs to no machine, and answers its ID.
	Disk func(fleetID string) string
}

// Conformance holds a provider to the contract of fleet.Provider. open makes a
// new one, with nothing running, for each rule.
func Conformance(t *testing.T, open func(t *testing.T) Subject) {
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			subject := open(t)
			if r.asked == nil || r.asked(subject) {
				r.hold(&trial{TB: t, Subject: subject})
			}
		})
	}
}

// rule is one sentence of the contract.
type rule struct {
	name  string
	asked func(Subject) bool // nil: always
	hold  func(*trial)
}

func rules() []rule { return slices.Concat(launchRules(), endRules(), faultRules()) }

// trial is a rule that is tried on a subject.
type trial struct {
	testing.TB
	Subject
	mu    sync.Mutex
	count int
}

// ours is the fleet under test; another one is not its concern.
const (
	ours   = "fleet-under-test"
	theirs = "fleet-of-another"
)

// request is a launch with a token of its own.
func (t *trial) request() fleet.LaunchRequest {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	return fleet.LaunchRequest{
		Candidate: t.Candidate, Token: fmt.Sprintf("d%020d-1-%d", t.count, t.count), FleetID: ours,
		WorkerID: fmt.Sprintf("w-d%020d", t.count), Queues: []string{"media"}, Slots: 2,
	}
}

// launch is one that has to succeed.
func (t *trial) launch(r fleet.LaunchRequest) fleet.Machine {
	t.Helper()
	m, err := t.Provider.Launch(t.Context(), r)
	if t.clean(err) != nil {
		t.Fatalf("Launch: %v", err)
	}
	if m.ID == "" || m.WorkerID != r.WorkerID {
		t.Errorf("the machine is %q of worker %q, not of %q", m.ID, m.WorkerID, r.WorkerID)
	}
	return m
}

// inventory is one that has to succeed.
func (t *trial) inventory(fleetID string) fleet.Inventory {
	t.Helper()
	all, err := t.Provider.Inventory(t.Context(), fleetID)
	if t.clean(err) != nil {
		t.Fatalf("Inventory: %v", err)
	}
	return all
}

// machines lists those of our fleet that have not ended.
func (t *trial) machines() []fleet.Machine {
	t.Helper()
	return slices.DeleteFunc(t.inventory(ours).Machines, func(m fleet.Machine) bool { return m.State == fleet.MachineTerminated })
}

// find is a machine of our fleet; false when it is not listed.
func (t *trial) find(id string) (fleet.Machine, bool) {
	t.Helper()
	for _, m := range t.inventory(ours).Machines {
		if m.ID == id {
			return m, true
		}
	}
	return fleet.Machine{}, false
}

// mostSettles is how often the world is let go on for one thing.
const mostSettles = 400

// until lets the world go on until something is so.
func (t *trial) until(what string, so func() bool) {
	t.Helper()
	for range mostSettles {
		if so() {
			return
		}
		t.Settle()
	}
	t.Fatalf("it never came about that %s", what)
}

// listed waits until a machine is listed as running.
func (t *trial) listed(id string) fleet.Machine {
	t.Helper()
	var found fleet.Machine
	t.until("machine "+id+" is listed as running", func() bool {
		m, ok := t.find(id)
		found = m
		return ok && m.State == fleet.MachineRunning
	})
	return found
}

// gone waits until a machine is terminated, or not listed any more.
func (t *trial) gone(id string) {
	t.Helper()
	t.until("machine "+id+" is gone", func() bool {
		m, ok := t.find(id)
		return !ok || m.State == fleet.MachineTerminated
	})
}

// one has the world go on for a while and checks that there is one machine.
func (t *trial) one(why string) {
	t.Helper()
	t.until("a machine is listed", func() bool { return len(t.machines()) > 0 })
	for range 20 {
		t.Settle()
	}
	if list := t.machines(); len(list) != 1 {
		t.Errorf("%s, and there are %d machines: %+v", why, len(list), list)
	}
}

// fails checks that a call failed, with an outcome.
func (t *trial) fails(what string, err error, want fleet.Outcome) {
	t.Helper()
	if t.clean(err) == nil {
		t.Errorf("%s succeeded; the outcome should be %s", what, want)
		return
	}
	if got := fleet.OutcomeOf(err); got != want {
		t.Errorf("the outcome of %s is %s, want %s: %v", what, got, want, err)
	}
}

// clean checks that an error tells no secret, and hands it back.
func (t *trial) clean(err error) error {
	t.Helper()
	if err == nil {
		return nil
	}
	for _, secret := range t.Secrets {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("an error tells a secret (%d characters)", len(secret))
		}
	}
	return err
}

// over is a context whose time is over.
func (t *trial) over() context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
