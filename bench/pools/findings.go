package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

// tooSoon is within what time growing and shrinking, or the reverse, is a flap.
const tooSoon = 2 * time.Second

// finding is what one contender did in a burst, or in several.
type finding struct {
	name     string
	jobs     int
	p50, p99 time.Duration
	most     float64
	average  float64 // workers
	actions  float64
	flaps    int
	reaction time.Duration // from the target passed to the next growth; -1 never
	slowest  time.Duration // of several
	leaving  time.Duration // longest from idle and asked to closed
	reduced  int           // workers that left
	counts   []count
}

func (c *contender) find(began time.Time, w weather) finding {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := finding{name: c.name, jobs: len(c.took), p50: percentile(c.took, 0.5), p99: percentile(c.took, 0.99), counts: c.counts}
	var sum float64
	for _, n := range c.counts {
		f.most = max(f.most, n.live)
		sum += n.live
	}
	f.average = sum / float64(max(len(c.counts), 1))
	history := slices.DeleteFunc(c.pool.Decisions(), func(d elastic.Decision) bool { return d.At.Before(began) || d.Changed == 0 })
	f.actions, f.flaps = float64(len(history)), flaps(history)
	f.reaction = reaction(c.counts, w.before)
	f.leaving, f.reduced = leaving(history, c.gone)
	return f
}

// together is the median of several, but all of what should never happen.
func together(of []finding) finding {
	all := finding{name: of[0].name}
	middle := func(value func(f finding) float64) float64 {
		var values []float64
		for _, f := range of {
			values = append(values, value(f))
		}
		return median(values)
	}
	all.p50 = time.Duration(middle(func(f finding) float64 { return float64(f.p50) }))
	all.p99 = time.Duration(middle(func(f finding) float64 { return float64(f.p99) }))
	all.reaction = time.Duration(middle(func(f finding) float64 { return float64(f.reaction) }))
	all.most = middle(func(f finding) float64 { return f.most })
	all.average = middle(func(f finding) float64 { return f.average })
	all.actions = middle(func(f finding) float64 { return f.actions })
	for _, f := range of {
		all.jobs += f.jobs
		all.flaps += f.flaps
		all.slowest = max(all.slowest, f.reaction)
		all.leaving, all.reduced = max(all.leaving, f.leaving), all.reduced+f.reduced
		all.counts = add(all.counts, f.counts, 1/float64(len(of)))
	}
	return all
}

// add is the sum of two courses, the second weighted.
func add(sum, other []count, weight float64) []count {
	if sum == nil {
		sum = make([]count, len(other))
	}
	for i := range min(len(sum), len(other)) {
		sum[i].at = other[i].at
		sum[i].live += weight * other[i].live
	}
	return sum
}

// flaps counts the decisions that took back what the one before had done.
func flaps(history []elastic.Decision) (n int) {
	for i, d := range history[min(1, len(history)):] {
		if d.Action != history[i].Action && d.At.Sub(history[i].At) < tooSoon {
			n++
		}
	}
	return n
}

// reaction is the time from the first look in the burst that saw a job wait
// longer than the target to the first that saw another worker.
func reaction(counts []count, burst time.Duration) time.Duration {
	from := -1
	for i, n := range counts {
		if from < 0 && n.at > burst && n.wait > standardTarget {
			from = i
		}
		if from >= 0 && n.live > counts[from].live {
			return n.at - counts[from].at
		}
	}
	return -1
}

// leaving is the longest that a worker took to be gone once it had been asked
// to go and had no job, and how many went.
func leaving(history []elastic.Decision, gone []departure) (longest time.Duration, n int) {
	for _, g := range gone {
		asked, found := lastShrink(history, g.closed)
		if !found {
			continue
		}
		if g.idle.After(asked) {
			asked = g.idle
		}
		longest = max(longest, g.closed.Sub(asked))
		n++
	}
	return longest, n
}

func lastShrink(history []elastic.Decision, before time.Time) (at time.Time, found bool) {
	for _, d := range history {
		if d.Action == elastic.Shrink && !d.At.After(before) {
			at, found = d.At, true
		}
	}
	return at, found
}

func burstTable(w io.Writer, findings []finding) {
	columns := []string{"signal", "jobs", "p50 ms", "p99", "most workers", "average", "actions", "reversed within 2 s", "reaction ms (slowest)", "leaves within ms"}
	var rows [][]string
	for _, f := range findings {
		rows = append(rows, []string{
			f.name, fmt.Sprint(f.jobs), milliseconds(f.p50), milliseconds(f.p99), fmt.Sprintf("%.0f", f.most), fmt.Sprintf("%.1f", f.average),
			fmt.Sprintf("%.0f", f.actions), fmt.Sprint(f.flaps), f.reacted(), f.left(),
		})
	}
	table(w, fmt.Sprintf("A burst: %d jobs a second, then %d, then %d; each waits 100 ms and needs hardly any CPU", quietRate, burstRate, quietRate), columns, rows)
	fmt.Fprintf(w, "\nThe median of %d bursts at once, each with arrivals of its own; reversals are those of all.\n", series)
}

func (f finding) reacted() string {
	if f.slowest <= 0 {
		return "-"
	}
	return fmt.Sprintf("%s (%s)", milliseconds(f.reaction), milliseconds(f.slowest))
}

func (f finding) left() string {
	if f.reduced == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", f.leaving.Seconds()*1e3)
}
