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

// finding is what one contender did in the burst.
type finding struct {
	name     string
	jobs     int
	p50, p99 time.Duration
	most     int
	average  float64 // workers
	actions  int
	flaps    int
	reaction time.Duration // from the target passed to the next growth; -1 never
	leaving  time.Duration // longest from idle and asked to closed
	reduced  int           // workers that left
	counts   []count
}

func (c *contender) find(began time.Time, w weather) finding {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := finding{name: c.name, jobs: len(c.took), p50: percentile(c.took, 0.5), p99: percentile(c.took, 0.99), counts: c.counts}
	sum := 0
	for _, n := range c.counts {
		f.most = max(f.most, n.live)
		sum += n.live
	}
	f.average = float64(sum) / float64(max(len(c.counts), 1))
	history := slices.DeleteFunc(c.pool.Decisions(), func(d elastic.Decision) bool { return d.At.Before(began) || d.Changed == 0 })
	f.actions, f.flaps = len(history), flaps(history)
	f.reaction = reaction(c.counts, w.before)
	f.leaving, f.reduced = leaving(history, c.gone)
	return f
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
	columns := []string{"signal", "jobs", "p50 ms", "p99", "most workers", "average", "actions", "reversed within 2 s", "reaction ms", "leaves within ms"}
	var rows [][]string
	for _, f := range findings {
		rows = append(rows, []string{
			f.name, fmt.Sprint(f.jobs), milliseconds(f.p50), milliseconds(f.p99), fmt.Sprint(f.most), fmt.Sprintf("%.1f", f.average),
			fmt.Sprint(f.actions), fmt.Sprint(f.flaps), never(f.reaction), f.left(),
		})
	}
	table(w, fmt.Sprintf("A burst: %d jobs a second, then %d, then %d; each waits 100 ms and needs 1 ms of CPU", quietRate, burstRate, quietRate), columns, rows)
}

func (f finding) left() string {
	if f.reduced == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", f.leaving.Seconds()*1e3)
}

func never(d time.Duration) string {
	if d < 0 {
		return "-"
	}
	return milliseconds(d)
}
