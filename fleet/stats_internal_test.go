package fleet

import "testing"

func TestParkedWorkersAreCountedApart(t *testing.T) {
	worker := func(market Market, maxRank int) Worker {
		return Worker{Place: Place{Provider: "aws", Market: market}, Status: Active, MaxRank: maxRank}
	}
	got := map[WorkerStatus]int{}
	for _, m := range countMachines([]Worker{worker(Spot, 0), worker(Spot, -1), worker(Spot, -1), worker(VPS, 3)}) {
		got[m.Status] += m.Count
	}
	if got[Active] != 2 || got["parked"] != 2 || len(got) != 2 {
		t.Errorf("counted %v", got)
	}
}
