package fairness

import (
	"fmt"
	"io"
	"time"

	"github.com/spillway-media/spillway/bench/report"
)

// Report is all that a run has found.
type Report struct {
	Rows []Row
	Sets int // how many sets of weights each contender has had, for Row.AnyLag
}

// Row is what was found of one scheduler.
type Row struct {
	Name     string
	Short    Share // weights 1 to 256, the first 2048 frames
	Cycle    Share // the same, one full cycle: as many frames as the sum of the weights
	Chromium Share // the weights of that browser, the first 2048 frames
	AnyLag   float64
	// Waited is how many frames a newcomer of weight 128 waited for its first,
	// that included; Round is how many a round has: its share is one of them.
	Waited, Round int
	Costs         []Cost // with 100, 256 and 1000 streams
}

const (
	window   = 2048
	newcomer = 128
	anySets  = 60
)

// Measure compares all schedulers. It takes some seconds.
func Measure() Report {
	all := entries()
	found := Report{Rows: make([]Row, len(all)), Sets: anySets + 1}
	weights := shuffled(256)
	cycle := sum(weights)
	for i, e := range all {
		row := &found.Rows[i]
		row.Name = e.name
		found := shares(e.make(), weights, []int{window, cycle})
		row.Short, row.Cycle = found[0], found[1]
		row.Chromium = shares(e.make(), chromium(), []int{window})[0]
		row.AnyLag = anyLag(e)
		row.Round = (cycle + newcomer + newcomer - 1) / newcomer
		row.Waited = wait(e.make(), weights, newcomer, cycle)
	}
	for _, streams := range []int{100, 256, 1000} {
		for i, cost := range costs(all, streams) {
			found.Rows[i].Costs = append(found.Rows[i].Costs, cost)
		}
	}
	return found
}

// anyLag is the most that any stream was off its share, after any frame of the
// first cycle or of the first 5000, whatever the weights.
func anyLag(e entry) float64 {
	worst := 0.0
	for _, set := range sets(anySets) {
		worst = max(worst, shares(e.make(), set, []int{min(sum(set), 5000)})[0].Lag)
	}
	return worst
}

// Write prints the tables as Markdown; the targets are Targets.
func (r Report) Write(w io.Writer) {
	fmt.Fprintf(w, "256 streams that always have bytes, of weights 1 to 256 in no order; equal frames. "+
		"A window is what has been sent since the first frame.\n")
	r.shareTable().Write(w)
	fmt.Fprintf(w, "\n\"Any weights\" is the most lag of %d sets of weights, after any frame. "+
		"The newcomer has weight %d; a round is %d frames, of which one is its share.\n", r.Sets, newcomer, r.Rows[0].Round)
	r.costTable().Write(w)
}

func (r Report) shareTable() *report.Table {
	t := &report.Table{Head: []string{
		"scheduler",
		fmt.Sprintf("first %d frames: within 1 %% / off by 100 %% / mean error / lag", window),
		fmt.Sprintf("one cycle, %d frames: the same", r.Rows[0].Cycle.Frames),
		"Jain, one cycle", "Chromium's weights, first 2048: lag / Jain",
		"any weights: lag", "a newcomer waits, frames",
	}}
	for _, row := range r.Rows {
		t.Add(row.Name, row.Short.String(), row.Cycle.String(),
			fmt.Sprintf("%.4f", row.Cycle.Jain),
			fmt.Sprintf("%.2f / %.3f", row.Chromium.Lag, row.Chromium.Jain),
			fmt.Sprintf("%.2f", row.AnyLag), row.waited())
	}
	return t
}

func (s Share) String() string {
	return fmt.Sprintf("%d / %d / %.1f %% / %.2f", s.Within, s.Off, 100*s.Mean, s.Lag)
}

func (r Row) waited() string {
	if r.Waited > r.Cycle.Frames {
		return "more than a cycle"
	}
	return fmt.Sprint(r.Waited)
}

func (r Report) costTable() *report.Table {
	columns := []string{"ns a decision"}
	for _, c := range r.Rows[0].Costs {
		columns = append(columns, fmt.Sprintf("%d streams", c.Streams))
	}
	t := &report.Table{Head: append(columns, "allocations")}
	for _, row := range r.Rows {
		cells, allocs := []string{row.Name}, 0.0
		for _, c := range row.Costs {
			cells = append(cells, fmt.Sprint(c.Time.Nanoseconds()))
			allocs = max(allocs, c.Allocs)
		}
		t.Add(append(cells, fmt.Sprintf("%.2f", allocs))...)
	}
	return t
}

// Target is one figure that was to be reached.
type Target struct {
	Name, Found string
	Met         bool
}

// Targets hold the scheduler of package priority against what it was meant to
// reach.
func (r Report) Targets() []Target {
	row := r.Rows[len(r.Rows)-1]
	lag := max(row.Cycle.Lag, row.Chromium.Lag, row.AnyLag)
	last := row.Costs[len(row.Costs)-1]
	allocs := 0.0
	for _, c := range row.Costs {
		allocs = max(allocs, c.Allocs)
	}
	return []Target{
		{"lag at most 1.0 frame in every window, of any weights", fmt.Sprintf("%.3f", lag), lag <= 1},
		{"Jain index at least 0.999 over one cycle", fmt.Sprintf("%.6f", row.Cycle.Jain), row.Cycle.Jain >= 0.999},
		{"256 of 256 streams within 1 % over one cycle", fmt.Sprint(row.Cycle.Within), row.Cycle.Within == 256},
		{"a newcomer is served within one round", fmt.Sprintf("%d of %d frames", row.Waited, row.Round), row.Waited <= row.Round},
		{"at most 250 ns a decision with 1,000 streams", fmt.Sprint(last.Time.Nanoseconds()), last.Time <= 250*time.Nanosecond},
		{"no allocations", fmt.Sprintf("%.4f", allocs), allocs < 0.001},
	}
}
