package fleettest

import (
	"slices"

	"github.com/spillway-media/spillway/fleet"
)

func endRules() []rule {
	return []rule{
		{name: "a machine that is ended is terminated, with its time, or listed no more", hold: machineEnds},
		{name: "a machine can be ended again and again", hold: endIsIdempotent},
		{name: "a machine that never was is not found", hold: neverWas},
		{name: "an end whose time is over fails, and may be asked for again", hold: endInNoTime},
		{name: "the others go on when one machine is ended", hold: othersGoOn},
		{name: "a machine that was taken away is terminated, or listed no more", hold: takenAway,
			asked: func(s Subject) bool { return s.Interrupt != nil }},
		{name: "a machine that was stopped is listed as that, and can be ended", hold: stopped,
			asked: func(s Subject) bool { return s.Stop != nil }},
		{name: "a disk without a machine is listed, and can be removed", hold: looseDisk,
			asked: func(s Subject) bool { return s.Disk != nil }},
		{name: "a disk that never was can be removed", hold: noDisk},
	}
}

func (t *trial) running() fleet.Machine {
	t.Helper()
	return t.listed(t.launch(t.request()).ID)
}

func (t *trial) end(id string) {
	t.Helper()
	if err := t.clean(t.Provider.Terminate(t.Context(), id)); err != nil {
		t.Fatalf("Terminate: %v", err)
	}
}

func machineEnds(t *trial) {
	m := t.running()
	t.end(m.ID)
	t.gone(m.ID)
	got, ok := t.find(m.ID)
	if !ok {
		return
	}
	if got.TerminatedAt.IsZero() || got.TerminatedAt.Before(got.LaunchedAt) {
		t.Errorf("it was launched at %s and ended at %s", got.LaunchedAt, got.TerminatedAt)
	}
	if !got.LaunchedAt.Equal(m.LaunchedAt) || got.WorkerID != m.WorkerID {
		t.Errorf("it is listed as %+v, and was as %+v", got, m)
	}
}

func endIsIdempotent(t *trial) {
	m := t.running()
	t.end(m.ID)
	again := func() {
		t.Helper()
		if err := t.clean(t.Provider.Terminate(t.Context(), m.ID)); err != nil && fleet.OutcomeOf(err) != fleet.NotFound {
			t.Errorf("Terminate, again: %v", err)
		}
	}
	again()
	t.gone(m.ID)
	again()
	t.gone(m.ID)
}

func neverWas(t *trial) {
	other := t.running()
	err := t.Provider.Terminate(t.Context(), nobody(other.ID))
	t.fails("the end of a machine that never was", err, fleet.NotFound)
	if _, ok := t.find(other.ID); !ok {
		t.Errorf("machine %s is gone", other.ID)
	}
}

// nobody is an ID of the same form that nothing has.
func nobody(id string) string {
	text := []byte(id)
	slices.Reverse(text)
	for i, c := range text {
		switch {
		case c == '0':
			text[i] = '9'
		case '1' <= c && c <= '9':
			text[i] = c - 1
		}
	}
	slices.Reverse(text)
	return string(text)
}

func endInNoTime(t *trial) {
	m := t.running()
	t.fails("an end whose time is over", t.Provider.Terminate(t.over(), m.ID), fleet.Unknown)
	t.end(m.ID)
	t.gone(m.ID)
}

func othersGoOn(t *trial) {
	first, other := t.running(), t.running()
	t.end(first.ID)
	t.gone(first.ID)
	if got, ok := t.find(other.ID); !ok || got.State != fleet.MachineRunning {
		t.Errorf("the other machine is %+v", got)
	}
}

func takenAway(t *trial) {
	m := t.running()
	t.Interrupt(m.ID)
	t.gone(m.ID)
}

func stopped(t *trial) {
	m := t.running()
	t.Stop(m.ID)
	t.until("it is listed as stopped", func() bool {
		got, ok := t.find(m.ID)
		if !ok {
			t.Fatalf("machine %s, whose disk is paid for, is not listed", m.ID)
		}
		return got.State == fleet.MachineStopped
	})
	t.end(m.ID)
	t.gone(m.ID)
}

func looseDisk(t *trial) {
	id := t.Disk(ours)
	other := t.Disk(theirs)
	has := func() bool {
		return slices.ContainsFunc(t.inventory(ours).Disks, func(d fleet.Disk) bool {
			if d.ID == other {
				t.Errorf("our fleet lists disk %s of another", other)
			}
			return d.ID == id
		})
	}
	t.until("disk "+id+" is listed", has)
	for range 2 {
		if err := t.clean(t.Provider.RemoveDisk(t.Context(), id)); err != nil {
			t.Errorf("RemoveDisk: %v", err)
		}
	}
	t.until("disk "+id+" is gone", func() bool { return !has() })
	if n := len(t.inventory(theirs).Disks); n != 1 {
		t.Errorf("the other fleet has %d disks", n)
	}
}

func noDisk(t *trial) {
	if err := t.clean(t.Provider.RemoveDisk(t.Context(), "disk-that-never-was")); err != nil && fleet.OutcomeOf(err) != fleet.NotFound {
		t.Errorf("RemoveDisk: %v", err)
	}
}
