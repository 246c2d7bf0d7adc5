package cli

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// scheduleUsage is machine time by who asked for the jobs.
type scheduleUsage struct {
	place
	Last time.Duration `name:"last" default:"720h" placeholder:"TIME" help:"How far back."`
	JSON bool          `name:"json" help:"Print JSON."`
}

// Help is the rest of what --help tells.
func (c *scheduleUsage) Help() string {
	return `The time of each attempt counts at the price of its machine, shared among the jobs that it runs at once. What machines cost while they boot, idle and drain is nobody's, so that the sum is under what was spent: status and /v1/scaling/spend have that. Jobs that the VPS ran cost nothing.`
}

// Run prints it.
func (c *scheduleUsage) Run(ctx context.Context, s *session) error {
	if c.Last <= 0 || c.Last > fleet.KeepSpending {
		return usagef("--last: %s is not within 0s to %s", c.Last, fleet.KeepSpending)
	}
	f, end, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	defer end()
	usage, err := f.Usage(ctx, c.Last)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.Stdout, map[string][]fleet.Usage{"usage": append([]fleet.Usage{}, usage...)})
	}
	return showUsage(s.Stdout, usage)
}

func showUsage(w io.Writer, usage []fleet.Usage) error {
	if len(usage) == 0 {
		_, err := fmt.Fprintln(w, "no job ran on a machine that costs")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(table, "tenant\tqueue\tjobs\tmachine time\tcost\n")
	var sum fleet.Money
	for _, u := range usage {
		spent := time.Duration(u.Seconds * float64(time.Second)).Round(time.Second)
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", orDash(shown(u.Tenant)), shown(u.Queue), u.Jobs, spent, u.Amount)
		sum += u.Amount
	}
	_, _ = fmt.Fprintf(table, "all\t\t\t\t%s\n", sum)
	return table.Flush()
}
