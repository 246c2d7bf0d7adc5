package fleet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
)

func TestCreditsAreComparedWithCost(t *testing.T) {
	cfg := fleet.Config{CreditMargin: 20, Queues: map[string]fleet.Queue{
		"media": {CreditPerJob: fleet.Cents(12)}, "ocr": {CreditPerJob: fleet.Cents(12) - 1}, "bulk": {}, "images": {CreditPerJob: 1}}}
	got := fleet.Credits(cfg, []fleet.Usage{
		{Tenant: "a", Queue: "media", Jobs: 6, Amount: fleet.Cents(60)},
		{Tenant: "b", Queue: "media", Jobs: 4, Amount: fleet.Cents(40)},
		{Tenant: "a", Queue: "ocr", Jobs: 10, Amount: fleet.Cents(100)},
		{Tenant: "a", Queue: "bulk", Jobs: 10, Amount: fleet.Cents(100)},
		{Tenant: "a", Queue: "images", Jobs: 10},
	})
	want := []fleet.Credit{
		{Queue: "bulk", Jobs: 10, Cost: fleet.Cents(100), Margin: -100},
		{Queue: "images", Jobs: 10, Earned: 10},
		{Queue: "media", Jobs: 10, Earned: fleet.Cents(120), Cost: fleet.Cents(100), Margin: 20},
		{Queue: "ocr", Jobs: 10, Earned: fleet.Cents(120) - 10, Cost: fleet.Cents(100), Margin: 19.999,
			Warning: "queue ocr: credits of 119.999 cents are 20.0 percent above a cost of 100 cents; credit_margin_percent is 20"},
	}
	same := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	if d := cmp.Diff(want, got, same); d != "" {
		t.Errorf("credits (-want +got):\n%s", d)
	}
}
