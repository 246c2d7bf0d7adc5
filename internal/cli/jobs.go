package cli

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spillway-media/spillway/internal/jobsclient"
	"github.com/spillway-media/spillway/jobs"
)

// jobsCommand groups what can be done with jobs that are there.
type jobsCommand struct {
	List   jobsList   `cmd:"" default:"withargs" help:"List jobs, newest first; this is what jobs does when it is told nothing else."`
	Show   jobsShow   `cmd:"" help:"Tell all about one job: what was asked for, how far it is, what it made, and each attempt."`
	Watch  jobsWatch  `cmd:"" help:"Show the progress of a job until it is over; the exit code is that of enqueue --wait."`
	Cancel jobsCancel `cmd:"" help:"Cancel jobs: one that waits is over at once, one that runs is told to stop."`
	Retry  jobsRetry  `cmd:"" help:"Queue jobs again that have failed or were cancelled; what they have saved is kept."`
}

// jobID is the number of a job on the command line.
type jobID jobs.ID

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *jobID) UnmarshalText(text []byte) error {
	id, err := jobs.ParseID(string(text))
	*i = jobID(id)
	return err
}

// jobsList lists.
type jobsList struct {
	where
	State  string `name:"state" enum:",queued,running,succeeded,failed,cancelled" default:"" placeholder:"STATE" help:"Only those that are queued, running, succeeded, failed or cancelled."`
	Queue  string `name:"queue" placeholder:"NAME" help:"Only those of this queue."`
	Type   string `name:"type" placeholder:"TYPE" help:"Only those of this type."`
	Tenant string `name:"tenant" placeholder:"NAME" help:"Only those of this tenant."`
	Limit  int    `name:"limit" default:"50" placeholder:"1-200" help:"How many."`
	Cursor string `name:"cursor" placeholder:"CURSOR" help:"Where an earlier list ended, as it says."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// Run prints a page.
func (c *jobsList) Run(ctx context.Context, s *session) error {
	if c.Limit < 1 || c.Limit > 200 {
		return usagef("--limit: %d is not within 1 to 200", c.Limit)
	}
	d, end, err := c.open(ctx, s, false)
	if err != nil {
		return err
	}
	defer end()
	page, err := d.Jobs(ctx, jobsclient.Question{
		State: jobs.State(c.State), Queue: c.Queue, Type: c.Type, Tenant: c.Tenant, Limit: c.Limit, Cursor: c.Cursor,
	})
	if err != nil {
		return refusal(err)
	}
	if c.JSON {
		return writeJSON(s.Stdout, page)
	}
	return showJobs(s.Stdout, page)
}

func showJobs(w io.Writer, page jobsclient.Page) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(table, "job\ttype\tqueue\tpriority\tstate\tdone\tasked for\treason\n")
	for _, job := range page.Jobs {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", job.ID, shown(job.Type), shown(job.Queue),
			job.Priority, job.State, doneText(job.Progress), job.CreatedAt.Local().Format(time.DateTime), orDash(shown(job.Reason)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if page.Next != "" {
		_, _ = fmt.Fprintf(w, "more by --cursor %s\n", page.Next)
	}
	return nil
}

func doneText(p jobs.Progress) string {
	switch {
	case p.Total > 0:
		return fmt.Sprintf("%d of %d", p.Done, p.Total)
	case p.Done > 0:
		return fmt.Sprint(p.Done)
	}
	return "-"
}

// jobsShow tells of one.
type jobsShow struct {
	ID jobID `arg:"" name:"id" help:"Number of the job."`
	where
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints it.
func (c *jobsShow) Run(ctx context.Context, s *session) error {
	d, end, err := c.open(ctx, s, false)
	if err != nil {
		return err
	}
	defer end()
	detail, err := d.Job(ctx, jobs.ID(c.ID))
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.Stdout, detail)
	}
	return showJob(s.Stdout, detail, c.outputs())
}

func showJob(w io.Writer, d jobsclient.Detail, outputs string) error {
	if err := writeEnd(w, d.Document, outputs); err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, text string) {
		if text != "" {
			_, _ = fmt.Fprintf(table, "%s\t%s\n", name, shown(text))
		}
	}
	row("type", d.Type)
	row("queue", fmt.Sprintf("%s, priority %d", d.Queue, d.Priority))
	row("tenant", d.Tenant)
	row("input", d.Input)
	row("params", string(d.Params))
	row("done", doneText(d.Progress))
	row("note", d.Progress.Note)
	row("asked for", timeText(d.CreatedAt))
	row("may begin", timeText(d.EligibleAt))
	row("begun", timeText(d.StartedAt))
	row("over", timeText(d.FinishedAt))
	row("worker", d.WorkerID)
	row("failures", fmt.Sprintf("%d of at most %d", d.Attempts, d.MaxAttempts))
	row("idempotency key", d.IdempotencyKey)
	row("unique key", d.UniqueKey)
	row("webhook", d.WebhookHost)
	for _, a := range d.History {
		_, _ = fmt.Fprintf(table, "attempt %d\t%s by %s, %s to %s%s\n", a.Number, a.Status, shown(a.WorkerID),
			timeText(a.StartedAt), orDash(timeText(a.FinishedAt)), reasonText(a.Reason))
	}
	return table.Flush()
}

func reasonText(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + shown(reason)
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// jobsWatch follows one.
type jobsWatch struct {
	ID jobID `arg:"" name:"id" help:"Number of the job."`
	where
	JSON bool `name:"json" help:"Print the finished job as one line of JSON."`
}

// Run waits for its end.
func (c *jobsWatch) Run(ctx context.Context, s *session) error {
	d, end, err := c.open(ctx, s, false)
	if err != nil {
		return err
	}
	defer end()
	return follow(ctx, s, d, jobs.ID(c.ID), following{bar: true, json: c.JSON, outputs: c.outputs()})
}

// jobsCancel cancels.
type jobsCancel struct {
	IDs []jobID `arg:"" name:"id" help:"Numbers of the jobs."`
	where
	Reason string `name:"reason" default:"" placeholder:"TEXT" help:"Why; it is kept with the job."`
	JSON   bool   `name:"json" help:"Print each job as one line of JSON."`
}

// Run cancels each, and fails when there was one that could not be.
func (c *jobsCancel) Run(ctx context.Context, s *session) error {
	return c.each(ctx, s, c.IDs, c.JSON, func(d desk, id jobs.ID) (jobs.Document, error) { return d.Cancel(ctx, id, c.Reason) })
}

// jobsRetry queues again.
type jobsRetry struct {
	IDs []jobID `arg:"" name:"id" help:"Numbers of the jobs."`
	where
	JSON bool `name:"json" help:"Print each job as one line of JSON."`
}

// Run retries each, and fails when there was one that could not be.
func (c *jobsRetry) Run(ctx context.Context, s *session) error {
	return c.each(ctx, s, c.IDs, c.JSON, func(d desk, id jobs.ID) (jobs.Document, error) { return d.Retry(ctx, id) })
}

// each does the same to several jobs; one that fails does not keep it from the others.
func (w *where) each(ctx context.Context, s *session, ids []jobID, asJSON bool, do func(desk, jobs.ID) (jobs.Document, error)) error {
	d, end, err := w.open(ctx, s, false)
	if err != nil {
		return err
	}
	defer end()
	var failed error
	for _, id := range ids {
		job, err := do(d, jobs.ID(id))
		switch {
		case err != nil:
			_, _ = fmt.Fprintf(s.Stderr, "spillway: %v\n", err)
			failed = toldError{err}
		case asJSON:
			err = writeLine(s.Stdout, job)
		default:
			_, err = fmt.Fprintln(s.Stdout, changedText(job))
		}
		if err != nil && failed == nil {
			return err
		}
	}
	return failed
}

func changedText(job jobs.Document) string {
	if job.CancelAsked && !job.State.Final() {
		return fmt.Sprintf("job %s %s, and told to stop", job.ID, job.State)
	}
	return fmt.Sprintf("job %s %s", job.ID, job.State)
}
