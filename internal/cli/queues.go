package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// queuesCommand counts.
type queuesCommand struct {
	where
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints every queue that has jobs which are not over.
func (c *queuesCommand) Run(ctx context.Context, s *session) error {
	d, end, err := c.open(ctx, s, false)
	if err != nil {
		return err
	}
	defer end()
	queues, err := d.Queues(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.Stdout, map[string][]jobs.QueueDocument{"queues": append([]jobs.QueueDocument{}, queues...)})
	}
	return showQueues(s.Stdout, queues)
}

func showQueues(w io.Writer, queues []jobs.QueueDocument) error {
	if len(queues) == 0 {
		_, err := fmt.Fprintln(w, "nothing waits and nothing runs")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(table, "queue\tready\tfor later\trunning\toldest\tby priority\n")
	for _, q := range queues {
		more := ""
		if q.More {
			more = "+"
		}
		_, _ = fmt.Fprintf(table, "%s\t%d%s\t%d%s\t%d\t%s\t%s\n", shown(q.Queue), q.Depth, more, q.Delayed, more, q.Running,
			ageText(q.OldestAge), prioritiesText(q.Priorities))
	}
	return table.Flush()
}

// ageText is how long something has waited.
func ageText(seconds float64) string {
	if seconds <= 0 {
		return "-"
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second / 10).String()
}

// prioritiesText leaves out what nobody waits in.
func prioritiesText(counts []int64) string {
	var parts []string
	for i, n := range counts {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d:%d", i+1, n))
		}
	}
	return orDash(strings.Join(parts, " "))
}

// workersCommand groups what can be done with workers.
type workersCommand struct {
	List  workersList  `cmd:"" default:"withargs" help:"List the workers of jobs; this is what workers does when it is told nothing else."`
	Drain workersDrain `cmd:"" help:"Tell a worker to take no more jobs, and to give back what it has not done in time."`

	Launch    workersLaunch    `cmd:"" help:"Launch machines for a queue by hand, under the limits of the scheduler."`
	Terminate workersTerminate `cmd:"" help:"End a machine by hand, once its worker has been drained."`
}

// workersList lists.
type workersList struct {
	where
	All  bool `name:"all" help:"Also the latest of those that are gone."`
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints the workers.
func (c *workersList) Run(ctx context.Context, s *session) error {
	d, end, err := c.open(ctx, s, false)
	if err != nil {
		return err
	}
	defer end()
	workers, err := d.Workers(ctx, c.All)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.Stdout, map[string][]jobs.WorkerRow{"workers": append([]jobs.WorkerRow{}, workers...)})
	}
	return showWorkers(s.Stdout, workers)
}

func showWorkers(w io.Writer, workers []jobs.WorkerRow) error {
	if len(workers) == 0 {
		_, err := fmt.Fprintln(w, "there is no worker")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(table, "worker\tstatus\tjobs\tqueues\tmachine\tcpu\tmemory\tlast heard of\n")
	for _, row := range workers {
		status := string(row.Status)
		if row.Stale {
			status += ", silent"
		}
		cpu, memory := "-", "-"
		if m := row.Latest; m != nil {
			cpu, memory = fmt.Sprintf("%.0f%%", m.CPUPercent), sizeText(m.MemoryBytes)
		}
		machine := strings.Join(strings.Fields(row.Provider+" "+row.Region+" "+row.InstanceType+" "+string(row.Market)), " ")
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d of %d\t%s\t%s\t%s\t%s\t%s\n", shown(row.ID), status, row.CurrentJobs, row.Slots,
			shown(strings.Join(row.Queues, ",")), shown(machine), cpu, memory, orDash(timeText(row.LastHeartbeat)))
	}
	return table.Flush()
}

// workersDrain drains one.
type workersDrain struct {
	ID string `arg:"" name:"id" help:"Name of the worker, as the list has it."`
	where
	Within time.Duration `name:"within" default:"5m" placeholder:"TIME" help:"How long its running jobs may go on."`
	JSON   bool          `name:"json" help:"Print JSON."`
}

// Run asks for it; the worker hears of it within seconds.
func (c *workersDrain) Run(ctx context.Context, s *session) error {
	if c.Within < 0 || c.Within > 24*time.Hour {
		return usagef("--within: %s is not within 0s to 24h", c.Within)
	}
	d, end, err := c.open(ctx, s, false)
	if err != nil {
		return err
	}
	defer end()
	if err := d.Drain(ctx, c.ID, c.Within); err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.Stdout, map[string]any{"id": c.ID, "status": jobs.WorkerDraining, "within_seconds": c.Within.Seconds()})
	}
	_, err = fmt.Fprintf(s.Stdout, "worker %s takes no more jobs, and is done within %s\n", c.ID, c.Within)
	return err
}
