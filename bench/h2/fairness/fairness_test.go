package fairness_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/spillway-media/spillway/bench/h2/fairness"
)

// measured is one run, at which all tests look.
var measured = sync.OnceValue(fairness.Measure)

// How long a decision takes is told by the run that is meant for it, on a
// machine that does nothing else.
func TestEveryTargetButTheTimeIsMet(t *testing.T) {
	for _, target := range measured().Targets() {
		if !target.Met && !strings.Contains(target.Name, "ns a decision") {
			t.Errorf("%s: found %s", target.Name, target.Found)
		}
	}
}

// The others are what they are known to be, so that what they are compared
// with is no straw man: the figures follow from the weights alone.
func TestOtherSchedulersAreAsTheyAreKnown(t *testing.T) {
	rows := map[string]fairness.Row{}
	for _, row := range measured().Rows {
		rows[row.Name] = row
	}
	fifo := rows["FIFO"]
	if fifo.Cycle.Jain > 1.001/256 || fifo.Waited <= fifo.Cycle.Frames {
		t.Errorf("FIFO shares: Jain %.4f, a newcomer waits %d frames", fifo.Cycle.Jain, fifo.Waited)
	}
	ring := rows["round robin"]
	if ring.Short.Within != 2 || ring.Short.Off != 64 || ring.Waited != 257 {
		t.Errorf("round robin: %v, a newcomer waits %d frames", ring.Short, ring.Waited)
	}
	wheel := rows["64-slot wheel, as H2O's"]
	if wheel.Cycle.Within < 240 || wheel.Cycle.Lag > 2.5 {
		t.Errorf("wheel: %v", wheel.Cycle)
	}
	rough := rows["WFQ on container/heap, keys of 256/w"]
	if rough.Cycle.Mean < 0.17 || rough.Cycle.Mean > 0.18 {
		t.Errorf("WFQ with rounded keys: %v", rough.Cycle)
	}
	exact := rows["WFQ on container/heap, keys of 2^32/w"]
	if exact.Cycle.Within != 256 || exact.AnyLag < 100 {
		t.Errorf("WFQ: %v, with any weights %.1f frames", exact.Cycle, exact.AnyLag)
	}
}

func TestTheReportTellsItsWindowsAndEveryScheduler(t *testing.T) {
	report := measured()
	var out strings.Builder
	report.Write(&out)
	for _, w := range []string{"first 2048 frames", "one cycle, 32896 frames", "1000 streams"} {
		if !strings.Contains(out.String(), w) {
			t.Errorf("the report does not say %q", w)
		}
	}
	for _, row := range report.Rows {
		if strings.Count(out.String(), "| "+row.Name+" |") != 2 {
			t.Errorf("the report does not have two rows for %q", row.Name)
		}
	}
}
