package fleet_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
)

func midday() time.Time { return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC) }

func paid(id string, cents int64) fleet.Worker {
	return fleet.Worker{ID: id, Place: fleet.Place{Provider: "aws", Type: "t", Zone: "z", Market: fleet.OnDemand}, InstanceID: "i-" + id,
		Queues: []string{"media", "ocr"}, Rate: fleet.Cents(cents), Ceiling: fleet.Cents(cents), ProvisionedAt: midday().Add(-time.Hour), LaunchedAt: midday().Add(-time.Hour)}
}

func TestMachinesAreBookedFromTheLastEntryOn(t *testing.T) {
	at := midday()
	tests := []struct {
		name   string
		change func(*fleet.Worker)
		want   []fleet.SpendEntry // kind, from, until and amount only
	}{
		{"from when the row was made", func(*fleet.Worker) {},
			[]fleet.SpendEntry{{Kind: fleet.SpendAccrual, From: at.Add(-time.Hour), Until: at, Amount: fleet.Cents(60)}}},
		{"from where the last entry ended", func(w *fleet.Worker) { w.AccruedUntil = at.Add(-time.Minute) },
			[]fleet.SpendEntry{{Kind: fleet.SpendAccrual, From: at.Add(-time.Minute), Until: at, Amount: fleet.Cents(1)}}},
		{"no time has passed", func(w *fleet.Worker) { w.AccruedUntil = at }, nil},
		{"the least time is booked at once", func(w *fleet.Worker) { w.ProvisionedAt, w.Granularity = at.Add(-time.Minute), 10*time.Minute },
			[]fleet.SpendEntry{
				{Kind: fleet.SpendMinimum, From: at.Add(-time.Minute), Until: at.Add(9 * time.Minute), Amount: fleet.Cents(10)},
				{Kind: fleet.SpendAccrual, From: at.Add(9 * time.Minute), Until: at.Add(9 * time.Minute)},
			}},
		{"and nothing more until it is over", func(w *fleet.Worker) {
			w.ProvisionedAt, w.Granularity, w.AccruedUntil = at.Add(-time.Minute), 10*time.Minute, at.Add(9*time.Minute)
		}, nil},
		{"a VPS worker costs nothing by the hour", func(w *fleet.Worker) { w.Market = fleet.VPS }, nil},
		{"a process costs nothing", func(w *fleet.Worker) { w.Rate = 0 }, nil},
		{"Complaint21: a row from the future", func(w *fleet.Worker) { w.ProvisionedAt = at.Add(time.Hour) },
			[]fleet.SpendEntry{{Kind: fleet.SpendAccrual, From: at, Until: at}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := paid("a", 60)
			test.change(&w)
			var got []fleet.SpendEntry
			for _, e := range fleet.Accrue(at, []fleet.Worker{w}, nil) {
				if e.WorkerID != "a" || e.Queue != "media" || e.Provider != "aws" {
					t.Errorf("an entry does not say what it is for: %+v", e)
				}
				got = append(got, fleet.SpendEntry{Kind: e.Kind, From: e.From, Until: e.Until, Amount: e.Amount})
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("entries (-want +got):\n%s", d)
			}
		})
	}
}

func TestPartsOfAnHourAddUpToTheHour(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for range 200 {
		w := paid("a", 0)
		w.Rate = fleet.Money(1 + rng.Int64N(9_999_999))
		w.AccruedUntil = midday().Add(-time.Duration(rng.Int64N(int64(time.Hour)))).Truncate(time.Millisecond)
		end := w.AccruedUntil.Add(time.Hour)
		var sum fleet.Money
		for w.AccruedUntil.Before(end) {
			until := w.AccruedUntil.Add(time.Duration(1+rng.IntN(90_000)) * time.Millisecond)
			if until.After(end) {
				until = end
			}
			for _, e := range fleet.Accrue(until, []fleet.Worker{w}, nil) {
				sum += e.Amount
				w.AccruedUntil = e.Until
			}
		}
		if sum != w.Rate {
			t.Fatalf("an hour at %s was booked as %s", w.Rate, sum)
		}
	}
}

func TestASpotMachineIsBookedAtTheLivePrice(t *testing.T) {
	tests := []struct {
		name  string
		live  int64
		other bool
		want  int64
	}{
		{"a price that rose", 40, false, 40},
		{"a price that fell", 10, false, 10},
		{"it never costs more than its ceiling", 90, false, 60},
		{"another place's price is not its", 40, true, 20},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := paid("a", 20)
			w.Market, w.Ceiling = fleet.Spot, fleet.Cents(60)
			offer := fleet.Offer{Place: w.Place, Price: fleet.Cents(test.live)}
			if test.other {
				offer.Zone = "elsewhere"
			}
			got := fleet.Accrue(midday(), []fleet.Worker{w}, []fleet.Offer{offer})
			if got[0].Amount != fleet.Cents(test.want) {
				t.Errorf("an hour was booked as %s, want %d cents", got[0].Amount, test.want)
			}
		})
	}
}
