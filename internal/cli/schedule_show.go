package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/internal/app"
)

// showRound prints a tick.
func showRound(w io.Writer, r fleet.Report, dry bool) error {
	did := "did"
	if dry {
		did = "would do; nothing was changed"
	}
	_, _ = fmt.Fprintf(w, "What the round of %s %s:\n\n", timeText(r.At), did)
	return showDecisions(w, r.Decisions)
}

// scheduleStatus tells how things stand.
type scheduleStatus struct {
	place
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints it.
func (c *scheduleStatus) Run(ctx context.Context, s *session) error {
	f, end, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	defer end()
	status, err := f.Status(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.Stdout, status)
	}
	return showStatus(s.Stdout, status)
}

func showStatus(w io.Writer, s app.FleetStatus) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, text string) { _, _ = fmt.Fprintf(table, "%s\t%s\n", name, shown(text)) }
	row("mode", modeText(s))
	if s.Acting != "" && s.Acting != s.Mode {
		row("", fmt.Sprintf("but the latest round was one of mode %s: unless that changed since, its scheduler reads another file; name it by --scheduler-config", s.Acting))
	}
	row("policy", string(s.Policy))
	row("last round", tickedText(s))
	row("spent", fmt.Sprintf("%s in the last hour, of %s; %s today, of %s", s.Spend.Hour, s.Spend.HourlyLimit, s.Spend.Day, s.Spend.DailyLimit))
	row("costs now", fmt.Sprintf("%s an hour, and %s at most", s.Spend.Rate, s.Spend.Ceiling))
	for _, c := range s.CoolOffs {
		row("left alone", fmt.Sprintf("%s until %s: %s", c.Place, timeText(c.Until), c.Outcome))
	}
	for _, a := range s.Alerts {
		row(alertText(a))
	}
	for _, source := range slices.Sorted(maps.Keys(s.Faults)) {
		row("does not answer", fmt.Sprintf("%s, %d times in a row", source, s.Faults[source]))
	}
	for _, r := range s.Requests {
		row("asked for", requestText(r))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if err := showFleetQueues(w, s.Queues); err != nil {
		return err
	}
	if err := showFleetWorkers(w, s.Workers); err != nil || len(s.Recent) == 0 {
		return err
	}
	_, _ = fmt.Fprintln(w)
	return showRecent(w, s.Recent)
}

// alertText tells a condition that somebody was told of from one that has not
// lasted for long enough.
func alertText(a app.AlertStatus) (name, text string) {
	text = fmt.Sprintf("%s since %s", a.Key, timeText(a.Since))
	if a.Fired.IsZero() {
		return "not yet an alert", text
	}
	return "alert", text
}

func modeText(s app.FleetStatus) string {
	if s.Latch == nil {
		return string(s.Mode)
	}
	return fmt.Sprintf("%s instead of %s, since %s: %s; schedule reset ends it", s.Mode, s.Configured, timeText(s.Latch.At), s.Latch.Reason)
}

func tickedText(s app.FleetStatus) string {
	if s.Ticked.IsZero() {
		return "never"
	}
	text := fmt.Sprintf("%s ago", s.At.Sub(s.Ticked).Round(time.Second))
	if s.At.Sub(s.Ticked) > 3*s.Interval {
		text += fmt.Sprintf("; there should be one each %s: no scheduler seems to run", s.Interval)
	}
	return text
}

func requestText(r fleet.Request) string {
	what := strings.Join(strings.Fields(string(r.Do)+" "+r.Queue+" "+r.Provider+" "+r.WorkerID), " ")
	return fmt.Sprintf("%s, at %s", what, timeText(r.At))
}

func showFleetQueues(w io.Writer, queues []app.QueueStatus) error {
	_, _ = fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(table, "queue\tready\trunning\toldest\tmachines\tof the VPS\tat most\tcloud\n")
	for _, q := range queues {
		cloud := "off"
		if q.CloudEnabled {
			cloud = "on"
		}
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%d\t%d\t%d\t%s\n", shown(q.Queue), q.Depth, q.Running, ageText(q.Oldest), q.Workers, q.Baseline, q.MaxWorkers, cloud)
	}
	return table.Flush()
}

func showFleetWorkers(w io.Writer, workers []app.WorkerStatus) error {
	if len(workers) == 0 {
		_, err := fmt.Fprint(w, "\nthere is no worker\n")
		return err
	}
	_, _ = fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(table, "worker\tstatus\tjobs\tqueues\tmachine\tan hour\tsince\n")
	for _, row := range workers {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d of %d\t%s\t%s\t%s\t%s\n", shown(row.ID), statusText(row), row.Claimed, row.Slots,
			shown(strings.Join(row.Queues, ",")), shown(row.String()), row.Rate, orDash(timeText(row.Since)))
	}
	return table.Flush()
}

func statusText(w app.WorkerStatus) string {
	switch {
	case !w.DrainDeadline.IsZero():
		return fmt.Sprintf("%s until %s", w.Status, timeText(w.DrainDeadline))
	case w.Parked:
		return fmt.Sprintf("%s, parked", w.Status)
	case !w.KeepUntil.IsZero():
		return fmt.Sprintf("%s, kept until %s", w.Status, timeText(w.KeepUntil))
	}
	return string(w.Status)
}

func showRecent(w io.Writer, recent []fleet.Decision) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(table, "decided\tdecision\twhat\twhy\n")
	for _, d := range recent {
		_, _ = fmt.Fprintln(table, lineOf(d))
	}
	return table.Flush()
}
