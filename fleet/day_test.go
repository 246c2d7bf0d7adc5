package fleet_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// TestEveryMomentBelongsToTheDayThatItsMidnightBegan goes through years of zones
// whose clocks change at midnight, before it, and at other hours.
func TestEveryMomentBelongsToTheDayThatItsMidnightBegan(t *testing.T) {
	for _, name := range []string{
		"UTC", "Europe/Paris", "America/New_York", "America/Santiago", "America/Havana", "Africa/Cairo", "Asia/Beirut", "Asia/Kathmandu", "Australia/Lord_Howe",
	} {
		t.Run(name, func(t *testing.T) {
			z := zone(t, name)
			begins := fleet.Midnight(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), z)
			for at := begins; at.Year() < 2028; at = at.Add(15 * time.Minute) {
				local := at.In(z)
				if local.Day() != begins.Day() {
					begins = at.In(z)
				}
				if got := fleet.Midnight(at, z); !got.Equal(begins) {
					t.Fatalf("the day of %s began at %s, and Midnight says %s", local, begins, got)
				}
			}
		})
	}
}

func TestSpendingIsSplitAtTheMidnightOfDaysThatHaveNone(t *testing.T) {
	z := zone(t, "America/Santiago") // 2026-09-06 begins at one o'clock
	begins := time.Date(2026, 9, 6, 4, 0, 0, 0, time.UTC)
	e := fleet.SpendEntry{WorkerID: "w-1", Place: fleet.Place{Provider: "aws"}, From: begins.Add(-time.Hour), Until: begins.Add(3 * time.Hour), Amount: 400}
	within := fleet.SpendEntry{WorkerID: "w-1", Place: fleet.Place{Provider: "aws"}, From: begins.Add(5 * time.Hour), Until: begins.Add(6 * time.Hour), Amount: 7}
	got := fleet.ByDay([]fleet.SpendEntry{e, within}, begins.Add(-48*time.Hour), begins.Add(48*time.Hour), z)
	want := []fleet.Spending{{Day: "2026-09-06", Provider: "aws", Amount: 307}, {Day: "2026-09-05", Provider: "aws", Amount: 100}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
}
