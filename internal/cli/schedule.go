package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/app/settings"
)

// scheduleCommand groups what has to do with the scheduler.
type scheduleCommand struct {
	Run       scheduleRun       `cmd:"" default:"withargs" help:"Decide each minute whether there should be more workers or fewer, and see to it; this is what schedule does when it is told nothing else."`
	Status    scheduleStatus    `cmd:"" help:"Tell the mode, money, queues, machines and the latest decisions."`
	Decisions scheduleDecisions `cmd:"" help:"List what was decided, newest first."`
	Explain   scheduleExplain   `cmd:"" help:"Tell all about one decision: rule, inputs, limits, what was not taken, and what came of it."`
	Usage     scheduleUsage     `cmd:"" help:"Tell whose jobs the machines' time and money went into. It is a report: nobody is charged by it."`
	Reset     scheduleReset     `cmd:"" help:"Clear a daily limit that has tripped, so that the configured mode is in force again."`
}

// scheduleRun is the loop.
type scheduleRun struct {
	layers
	Settings settings.Groups `embed:""`
	Once     bool            `name:"once" help:"Do one round and end."`
	DryRun   bool            `name:"dry-run" help:"Print what the next round would do, with reasons, and change nothing."`
	JSON     bool            `name:"json" help:"Print JSON, of --once and --dry-run."`
}

// Help is the rest of what --help tells.
func (c *scheduleRun) Help() string {
	return `It reads how many jobs wait, what the workers do and what machines cost, decides by --scheduler-config, starts and ends machines, and writes down each decision. Of several, one acts; the others wait to take over.

Without a file that says otherwise its mode is vps_only, in which nothing is started in a cloud. Which machines it ends, and what may be spent, is in that file only: no API changes it.`
}

// Run schedules.
func (c *scheduleRun) Run(ctx context.Context, s *session) error {
	config := settings.Config{Groups: c.Settings}
	c.loaded.Complete(&config)
	config.Helper = app.Helper(helperWord)
	own := config.Database == ""
	if own {
		config.Database = config.OwnDatabase()
	}
	if err := errors.Join(app.Check(config), app.CheckRole(config, app.Schedule)); err != nil {
		return c.locate(err)
	}
	// A database that nobody has made has no jobs: a look makes none, and the
	// loop makes only one that it was told of.
	if own || c.Once || c.DryRun {
		if err := thereAreJobs(config); err != nil {
			return err
		}
	}
	if c.Once || c.DryRun {
		return c.once(ctx, s, config)
	}
	if c.JSON {
		return usagef("--json: is for --once and --dry-run; the loop writes a log")
	}
	log := app.NewLogger(config.Observing, s.Stdout, terminal(s.Stdout))
	c.warn(log)
	return app.Run(ctx, config, app.Schedule, log)
}

// once does or plans one round.
func (c *scheduleRun) once(ctx context.Context, s *session, config settings.Config) error {
	f, err := app.OpenFleet(ctx, config, quietLog(config, s))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	round := f.Once
	if c.DryRun {
		round = f.DryRun
	}
	report, err := round(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.Stdout, report)
	}
	if err := showRound(s.Stdout, report, c.DryRun); err != nil {
		return err
	}
	return failureOf(report.Decisions)
}

// failureOf is a failure whose story the decisions tell.
func failureOf(all []fleet.Decision) error {
	for _, d := range all {
		if d.Failed {
			return errSilent
		}
	}
	return nil
}

// place is the flags by which a database is found that has a scheduler's
// tables, and the scheduler's file.
type place struct {
	layers
	Storage  settings.Storage    `embed:"" group:"Files"`
	Durable  settings.Durable    `embed:"" group:"Jobs"`
	Schedule settings.Scheduling `embed:"" group:"Scheduler"`
}

// open opens the database, which must be there.
func (p *place) open(ctx context.Context, s *session) (f *app.Fleet, end func(), err error) {
	config := p.loaded.Config()
	config.Storage, config.Durable, config.Scheduling = p.Storage, p.Durable, p.Schedule
	config.Helper = app.Helper(helperWord)
	if config.Database == "" {
		config.Database = config.OwnDatabase()
	}
	if err := p.locate(config.Validate()); err != nil {
		return nil, nil, err
	}
	if err := thereAreJobs(config); err != nil {
		return nil, nil, err
	}
	f, err = app.OpenFleet(ctx, config, quietLog(config, s))
	if err != nil {
		return nil, nil, err
	}
	return f, func() { _ = f.Close() }, nil
}

// thereAreJobs is an error where the database is a file that is not there:
// opening it would make it.
func thereAreJobs(config settings.Config) error {
	file := config.SQLiteFile()
	if file == "" {
		return nil
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there are no jobs in %q; name another place by --database or --data", file)
	}
	return nil
}

// scheduleDecisions lists.
type scheduleDecisions struct {
	place
	Kind   string `name:"kind" default:"" placeholder:"KIND" help:"Only those to launch, undrain, drain, terminate, hold and so on."`
	Queue  string `name:"queue" default:"" placeholder:"NAME" help:"Only those for this queue."`
	Worker string `name:"worker" default:"" placeholder:"NAME" help:"Only those about this worker."`
	Limit  int    `name:"limit" default:"50" placeholder:"N" help:"How many."`
	JSON   bool   `name:"json" help:"Print JSON, each decision in full."`
}

// Run prints them.
func (c *scheduleDecisions) Run(ctx context.Context, s *session) error {
	if c.Limit < 1 || c.Limit > 10_000 {
		return usagef("--limit: %d is not within 1 to 10000", c.Limit)
	}
	if kinds := fleet.Kinds(); c.Kind != "" && !slices.Contains(kinds, fleet.Kind(c.Kind)) {
		return usagef("--kind: %q is none of %s", c.Kind, strings.Trim(fmt.Sprint(kinds), "[]"))
	}
	f, end, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	defer end()
	all, err := f.Decisions(ctx, fleet.DecisionFilter{Kind: fleet.Kind(c.Kind), Queue: c.Queue, WorkerID: c.Worker}, c.Limit)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.Stdout, map[string][]fleet.Decision{"decisions": append([]fleet.Decision{}, all...)})
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(s.Stdout, "nothing was decided")
		return err
	}
	return showRecent(s.Stdout, all)
}

// scheduleExplain tells of one decision.
type scheduleExplain struct {
	ID string `arg:"" name:"id" help:"Name of the decision, as status and the log have it."`
	place
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints it.
func (c *scheduleExplain) Run(ctx context.Context, s *session) error {
	f, end, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	defer end()
	d, err := f.Decision(ctx, c.ID)
	if errors.Is(err, fleet.ErrNotFound) {
		return fmt.Errorf("decision %s: there is none; schedule decisions lists them", c.ID)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.Stdout, d)
	}
	_, _ = fmt.Fprintf(s.Stdout, "%s, in tick %s\n", timeText(d.At), shown(d.Tick))
	return showDecision(s.Stdout, d)
}

// scheduleReset clears the latch.
type scheduleReset struct {
	place
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints what was cleared.
func (c *scheduleReset) Run(ctx context.Context, s *session) error {
	f, end, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	defer end()
	latch, err := f.Reset(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.Stdout, map[string]any{"cleared": latch})
	}
	if latch == nil {
		_, err = fmt.Fprintln(s.Stdout, "no daily limit has tripped; nothing was changed")
		return err
	}
	_, err = fmt.Fprintf(s.Stdout, "cleared: %s on %s, at %s of %s\n%s\n", shown(latch.Reason), timeText(latch.At), latch.Spent, latch.Limit,
		"what was spent today stays spent: until the day is over the limit trips again as soon as machines could reach it, unless it is raised")
	return err
}
