package fleet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheDailyLimitEndsWhatIsThere(t *testing.T) {
	latched := func(s *Snapshot) { s.Latch = &Latch{At: noon(), Limit: Cents(5000)} }
	spent := func(s *Snapshot) { s.Spend.Day = Cents(5000) }
	with := func(change func(*Worker)) func(*Snapshot) {
		return func(s *Snapshot) {
			spent(s)
			change(&s.Workers[0])
		}
	}
	inventory := func(ms ...Machine) map[string]Inventory { return map[string]Inventory{"aws": {Machines: ms}} }
	tests := []struct {
		name   string
		change func(*Snapshot)
		want   []string
	}{
		{"nothing while there is money left", func(*Snapshot) {}, nil},
		{"a busy worker gets two minutes", spent, []string{"revert_mode", "drain a 2m0s"}},
		{"while the latch is set, what is left goes on being ended", latched, []string{"drain a 2m0s"}},
		{"a long drain is cut short", with(func(w *Worker) { w.Status, w.DrainDeadline = Draining, noon().Add(5*time.Minute) }), []string{"revert_mode", "drain a 2m0s"}},
		{"a short one goes on", with(func(w *Worker) { w.Status, w.DrainDeadline = Draining, noon().Add(time.Minute) }), []string{"revert_mode"}},
		{"one that is being terminated goes on", with(func(w *Worker) { w.Status, w.TerminateAt = Draining, noon() }), []string{"revert_mode"}},
		{"one that an operator wants to keep goes too", with(func(w *Worker) { w.KeepUntil = noon().Add(time.Hour) }), []string{"revert_mode", "drain a 2m0s"}},
		{"one that has not registered is ended at once", with(func(w *Worker) { w.Status, w.RegisteredAt = Provisioning, time.Time{} }), []string{"revert_mode", "terminate a i-a"}},
		{"one whose machine is not known waits for the inventory", with(func(w *Worker) { w.Status, w.RegisteredAt, w.InstanceID = Provisioning, time.Time{}, "" }), []string{"revert_mode"}},
		{"and is found there by its tag", func(s *Snapshot) {
			with(func(w *Worker) { w.Status, w.RegisteredAt, w.InstanceID = Provisioning, time.Time{}, "" })(s)
			s.Inventories = inventory(Machine{ID: "i-9", WorkerID: "a", State: MachineRunning})
		}, []string{"revert_mode", "terminate a i-9"}},
		{"the VPS worker stays", with(func(w *Worker) { w.Place = Place{Provider: "vps", Market: VPS} }), []string{"revert_mode"}},
		{"a machine that has ended needs nothing", func(s *Snapshot) {
			spent(s)
			s.Inventories = inventory(Machine{ID: "i-a", State: MachineTerminated})
		}, []string{"revert_mode"}},
		{"a machine that no row knows is ended", func(s *Snapshot) {
			latched(s)
			s.Inventories = inventory(Machine{ID: "i-a", State: MachineRunning}, Machine{ID: "i-x", State: MachineRunning})
		}, []string{"drain a 2m0s", "terminate  i-x"}},
		{"a fault has used up time: what is left of it is less", func(s *Snapshot) { s.Spend.Day = Cents(4997) }, []string{"revert_mode", "drain a 1m0s"}},
		{"and then none is left", func(s *Snapshot) { s.Spend.Day = Cents(4998) }, []string{"revert_mode", "drain a 0s"}},
		{"one that has drained is ended although its provider cannot be listed", func(s *Snapshot) {
			with(func(w *Worker) { w.Status, w.DrainDeadline = Draining, noon().Add(time.Minute) })(s)
			s.Faults = []Fault{{Source: "provider:aws"}}
		}, []string{"revert_mode", "terminate a i-a"}},
		{"and asked again to end", func(s *Snapshot) {
			with(func(w *Worker) { w.Status, w.TerminateAt, w.Claimed = Draining, noon(), 1 })(s)
			s.Faults = []Fault{{Source: "provider:aws"}}
		}, []string{"revert_mode", "terminate a i-a"}},
		{"but not while it has jobs and time", func(s *Snapshot) {
			with(func(w *Worker) { w.Status, w.DrainDeadline, w.Claimed = Draining, noon().Add(time.Minute), 1 })(s)
			s.Faults = []Fault{{Source: "provider:aws"}}
		}, []string{"revert_mode"}},
		{"without a database there is time for it to come back", func(s *Snapshot) {
			s.Spend.Day = Cents(4996)
			s.Faults = []Fault{{Source: "database"}}
		}, []string{"revert_mode"}},
		{"without a database machines are ended at once, by the provider's list", func(s *Snapshot) {
			s.Spend.Day = Cents(4998)
			s.Faults = []Fault{{Source: "database"}}
			s.Inventories = inventory(Machine{ID: "i-a", WorkerID: "a", State: MachineRunning}, Machine{ID: "i-x", WorkerID: "x", State: MachineRunning})
		}, []string{"revert_mode", "terminate a i-a", "terminate x i-x"}},
		{"without a database and a list, by the row that is remembered", func(s *Snapshot) {
			s.Spend.Day = Cents(4998)
			s.Faults = []Fault{{Source: "database"}, {Source: "provider:aws"}}
		}, []string{"revert_mode", "terminate a i-a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			snap := seen(machine("a", 60))
			test.change(&snap)
			d := newDeciding(noon(), paying(), snap)
			d.capSpending()
			var got []string
			for _, x := range d.out {
				text := string(x.Kind)
				if x.Kind == KindDrain {
					text += " " + x.WorkerID + " " + x.Within.String()
				}
				if x.Kind == KindTerminate {
					text += " " + x.WorkerID + " " + x.MachineID
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
			if len(test.want) > 0 && d.budget.refuses(onDemand(1)) == "" {
				t.Error("a machine could still be launched in the same tick")
			}
		})
	}
}

func TestMoreThanFiveMachinesAreEndedAtTheDailyLimit(t *testing.T) {
	snap := seen()
	for i := range 20 {
		snap.Workers = append(snap.Workers, machine(string(rune('a'+i)), 10))
	}
	snap.Spend.Day = Cents(5000)
	cfg := paying()
	cfg.MaxTerminations = 5
	d := newDeciding(noon(), cfg, snap)
	d.capSpending()
	if len(d.out) != 21 || d.ended != 0 {
		t.Errorf("%d decisions, want the latch and 20 drains that count for no cap (%d did)", len(d.out), d.ended)
	}
}
