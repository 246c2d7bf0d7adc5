package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/simulate"
	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/app/settings"
)

// simulateCommand replays jobs against settings of the scheduler.
type simulateCommand struct {
	Config []string `name:"config" required:"" sep:"none" placeholder:"FILE" help:"File of the scheduler's settings. Several are compared."`
	Policy []string `name:"policy" enum:"seed,steps,backlog" placeholder:"NAME" help:"Try each file with this policy instead of its own: seed, steps or backlog. Several are compared."`

	Trace     string        `name:"trace" placeholder:"FILE" help:"CSV file of jobs, in order of time: at and seconds, and if need be queue, priority, estimated_seconds, checkpointable, failed."`
	Synthetic bool          `name:"synthetic" help:"Make jobs up, with the moments of a real trace of 24 days."`
	FromDB    string        `name:"from-db" placeholder:"URL" help:"Replay the jobs of a database: sqlite:///path or postgres://..."`
	Last      time.Duration `name:"last" default:"168h" placeholder:"TIME" help:"With --from-db: how far back."`

	Days     int      `name:"days" default:"24" placeholder:"N" help:"With --synthetic: how many days."`
	Jobs     int      `name:"jobs" placeholder:"N" help:"With --synthetic: how many jobs, about; otherwise as many as the real trace has in that time."`
	Arrivals float64  `name:"arrivals" default:"1" placeholder:"FACTOR" help:"With --synthetic: how many times as many jobs come."`
	Service  float64  `name:"service" default:"1" placeholder:"FACTOR" help:"With --synthetic: how many times as long they take."`
	Queue    []string `name:"queue" placeholder:"NAME=SHARE" help:"Queue of jobs that are made up, or of a trace without the column; several with their shares. Default: media."`
	Seed     uint64   `name:"seed" placeholder:"N" help:"Another seed makes other jobs, and other bad luck."`

	Boot          time.Duration `name:"boot" default:"3m" placeholder:"TIME" help:"How long a machine takes until its worker claims jobs."`
	BootSpread    time.Duration `name:"boot-spread" placeholder:"TIME" help:"How much longer it takes at most."`
	Slots         int           `name:"slots" default:"1" placeholder:"N" help:"Jobs that a machine runs at once, where the file does not say."`
	VPSSlots      int           `name:"vps-slots" default:"1" placeholder:"N" help:"Jobs that the VPS runs at once."`
	Interruptions float64       `name:"interruptions" placeholder:"N" help:"How many times an hour a spot machine is taken away."`
	Shortage      float64       `name:"shortage" placeholder:"PART" help:"Part of the launches on spot that find no capacity, 0 to 1."`
	Packed        bool          `name:"packed" help:"Give jobs to as few machines as can take them, rather than to the one that has waited the longest, as Redis does."`

	HTML       string `name:"html" placeholder:"FILE" help:"Also write a page with plots."`
	WriteTrace string `name:"write-trace" placeholder:"FILE" help:"Also write the jobs as CSV."`
	JSON       bool   `name:"json" help:"Print JSON."`
}

// Help is the rest of what --help tells.
func (c *simulateCommand) Help() string {
	return `It decides with the code of the scheduler itself, minute by minute, at the prices of the settings, and starts no machine. Name one source of jobs: --trace, --synthetic or --from-db.

Waits are from when a job could have started until it was done, less the time that it took. Machine hours begin with the launch.

Try: spillway simulate --config scheduler.json --policy seed --policy steps --policy backlog --synthetic --arrivals 4 --html report.html`
}

// Run replays, compares and prints.
func (c *simulateCommand) Run(ctx context.Context, s *session) error {
	if err := c.check(); err != nil {
		return err
	}
	cases, notes, err := c.cases()
	if err != nil {
		return err
	}
	trace, source, err := c.source(ctx, s)
	if err != nil {
		return err
	}
	if c.WriteTrace != "" {
		if err := writeFile(c.WriteTrace, func(w io.Writer) error { _, err := simulate.WriteCSV(w, trace); return err }); err != nil {
			return err
		}
	}
	// What is thrown away is small and much: to collect it less often is a third
	// of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	results, err := simulate.Compare(ctx, trace, cases, c.options())
	if err != nil {
		return err
	}
	report := simulate.NewReport("Replay of jobs", source, cases, results, c.options())
	report.Notes = notes
	if c.HTML != "" {
		if err := writeFile(c.HTML, report.WriteHTML); err != nil {
			return err
		}
	}
	if c.JSON {
		return writeJSON(s.Stdout, map[string]any{"results": results, "credits": report.Credits, "warnings": notes})
	}
	return showReport(s.Stdout, report)
}

func (c *simulateCommand) check() error {
	sources := 0
	for _, given := range []bool{c.Trace != "", c.Synthetic, c.FromDB != ""} {
		if given {
			sources++
		}
	}
	switch {
	case sources != 1:
		return usagef("name one source of jobs: --trace FILE, --synthetic or --from-db URL")
	case c.Shortage < 0 || c.Shortage > 1:
		return usagef("--shortage: %g is not within 0 to 1", c.Shortage)
	case c.Interruptions < 0:
		return usagef("--interruptions: %g is under 0", c.Interruptions)
	case c.Arrivals <= 0 || c.Service <= 0:
		return usagef("--arrivals and --service must be above 0")
	case c.Days < 1 || c.Days > 3660:
		return usagef("--days: %d is not within 1 to 3660", c.Days)
	case c.Jobs < 0 || c.Slots < 1 || c.VPSSlots < 1:
		return usagef("--jobs must not be under 0, --slots and --vps-slots not under 1")
	case c.Boot < 0 || c.BootSpread < 0 || c.Last <= 0:
		return usagef("--boot and --boot-spread must not be under 0, and --last above it")
	}
	return nil
}

func (c *simulateCommand) options() simulate.Options {
	return simulate.Options{
		Boot: c.Boot, BootSpread: c.BootSpread, Slots: c.Slots, VPSSlots: c.VPSSlots,
		Interruptions: c.Interruptions, Shortage: c.Shortage, Packed: c.Packed, Seed: c.Seed,
	}
}

// cases is every file with every policy, and what is to be said about them.
func (c *simulateCommand) cases() (cases []simulate.Case, notes []string, err error) {
	policies := c.Policy
	if len(policies) == 0 {
		policies = []string{""}
	}
	for _, path := range c.Config {
		file, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, fmt.Errorf("read scheduler's settings: %w", err)
		}
		for i, policy := range policies {
			cfg, err := withPolicy(file, policy)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", path, err)
			}
			name := strings.TrimSuffix(filepath.Base(path), ".json")
			switch {
			case policy != "" && len(c.Config) == 1:
				name = policy
			case policy != "":
				name += ", " + policy
			}
			cases = append(cases, simulate.Case{Name: name, Config: cfg})
			if i == 0 {
				notes = append(notes, notesOf(filepath.Base(path), cfg, c.VPSSlots)...)
			}
		}
	}
	return cases, notes, nil
}

// notesOf are what to know of a file before its replay is believed.
func notesOf(file string, cfg fleet.Config, slots int) (notes []string) {
	for _, remark := range fleet.Warnings(cfg, nil) {
		notes = append(notes, file+": "+remark.String())
	}
	if note := keptFromAll(cfg, slots); note != "" {
		notes = append(notes, file+": "+note)
	}
	return notes
}

// keptFromAll tells that all slots of the replay's VPS are kept for some queues,
// so that it never works on the others.
func keptFromAll(cfg fleet.Config, slots int) string {
	kept := 0
	var others []string
	for _, name := range slices.Sorted(maps.Keys(cfg.Queues)) {
		if n := cfg.Queues[name].BaselineWorkers; n > 0 {
			kept += n
		} else {
			others = append(others, name)
		}
	}
	if kept < slots || kept == 0 || len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("baseline_workers keeps all slots of the VPS, so that %s wait for machines; it has one for them by --vps-slots %d", strings.Join(others, ", "), kept+1)
}

// withPolicy reads a file as if it named this policy, so that defaults that hang
// on it are the policy's.
func withPolicy(file []byte, policy string) (fleet.Config, error) {
	if policy == "" {
		return fleet.Parse(file)
	}
	if _, err := fleet.Parse(file); err != nil {
		return fleet.Config{}, err
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(file, &keys); err != nil {
		return fleet.Config{}, fmt.Errorf("read settings: %w", err)
	}
	keys["policy"] = json.RawMessage(strconv.Quote(policy))
	changed, err := json.Marshal(keys)
	if err != nil {
		return fleet.Config{}, fmt.Errorf("set policy: %w", err)
	}
	return fleet.Parse(changed)
}

// source is where the jobs come from, with a sentence about it.
func (c *simulateCommand) source(ctx context.Context, s *session) (simulate.Trace, string, error) {
	shares, err := c.shares()
	if err != nil {
		return nil, "", err
	}
	switch {
	case c.Trace != "":
		open := func() (io.ReadCloser, error) { return os.Open(c.Trace) }
		return simulate.CSV(open, shares[0].Queue), "The jobs are those of " + filepath.Base(c.Trace) + ".", nil
	case c.FromDB != "":
		return c.history(ctx, s)
	}
	made := simulate.Synthetic{Days: c.Days, Jobs: c.Jobs, Arrivals: c.Arrivals, Service: c.Service, Shares: shares, Seed: c.Seed}
	return made.Trace(), "The jobs are made up, with the moments of a real trace of picture generation.", nil
}

// shares reads --queue. Bulk jobs have the priority that they have by default.
func (c *simulateCommand) shares() ([]simulate.Share, error) {
	if len(c.Queue) == 0 {
		return []simulate.Share{{Queue: "media"}}, nil
	}
	var shares []simulate.Share
	for _, text := range c.Queue {
		name, part, weighted := strings.Cut(text, "=")
		share := simulate.Share{Queue: name}
		if name == "bulk" {
			share.Priority = 8
		}
		if weighted {
			weight, err := strconv.ParseFloat(part, 64)
			if err != nil || !(weight > 0) {
				return nil, usagef("--queue: %q is not a share above 0", part)
			}
			share.Weight = weight
		}
		shares = append(shares, share)
	}
	return shares, nil
}

// writeFile writes a file anew, and leaves none that is half written.
func writeFile(path string, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if err := errors.Join(write(file), file.Chmod(0o644), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func showReport(w io.Writer, r simulate.Report) error {
	for _, note := range r.Notes {
		_, _ = fmt.Fprintln(w, "warning:", note)
	}
	first := r.Results[0]
	_, _ = fmt.Fprintf(w, "%d jobs in %s\n", first.Total.Jobs, first.Until.Sub(first.From).Round(time.Hour))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(table, "settings\twait p50\tp95\tp99\tover 5 min\tmachine hours\tcents\tlaunches\tunder 15 min\tflaps\tpeak\tnot done\t\n")
	for _, x := range r.Results {
		t, m := x.Total, x.Machines
		_, _ = fmt.Fprintf(table, "%s\t%.0f s\t%.0f s\t%.0f s\t%.2f%%\t%.0f\t%.0f\t%d\t%d\t%d\t%d\t%d\t\n", x.Name,
			t.Waits.P50.Seconds(), t.Waits.P95.Seconds(), t.Waits.P99.Seconds(), 100*t.Waits.Over, m.Hours,
			float64(x.Money.Spent)/float64(fleet.Cent), m.Launches, m.ShortLives, m.Flaps, m.Peak, t.Unfinished)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i, x := range r.Results {
		showResult(w, x, r.Credits[i])
	}
	return nil
}

// showResult is what the table has no room for.
func showResult(w io.Writer, r simulate.Result, credits []fleet.Credit) {
	if len(r.Limits) > 0 {
		var parts []string
		for _, c := range r.Limits {
			parts = append(parts, fmt.Sprintf("%s %d times", c.Name, c.Times))
		}
		_, _ = fmt.Fprintf(w, "%s: limits that changed a decision: %s\n", r.Name, strings.Join(parts, ", "))
	}
	if r.Latch != nil {
		_, _ = fmt.Fprintf(w, "%s: the daily limit tripped at %s, and only the VPS worked from then on\n", r.Name, r.Latch.At.Format(time.RFC3339))
	}
	for _, c := range credits {
		switch {
		case c.Earned > 0:
			_, _ = fmt.Fprintf(w, "%s: queue %s: %d jobs earned %s, machines cost %s\n", r.Name, c.Queue, c.Jobs, c.Earned, c.Cost)
		case c.Cost > 0:
			_, _ = fmt.Fprintf(w, "%s: queue %s: machines cost %s for %d jobs; without credit_cents_per_job nothing is compared\n", r.Name, c.Queue, c.Cost, c.Jobs)
		}
		if c.Warning != "" {
			_, _ = fmt.Fprintf(w, "%s: warning: %s\n", r.Name, c.Warning)
		}
	}
}

// history reads a database once, so that all replays are of the same jobs.
func (c *simulateCommand) history(ctx context.Context, s *session) (simulate.Trace, string, error) {
	loaded, err := settings.Load(s.Environ, "")
	if loaded == nil {
		return nil, "", err
	}
	config := loaded.Config()
	config.Database = c.FromDB
	if file := config.SQLiteFile(); file != "" {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return nil, "", usagef("--from-db: there are no jobs in %q", file)
		}
	}
	now := time.Now()
	past, err := app.PastJobs(ctx, config, now.Add(-c.Last), now, quietLog(config, s))
	if err != nil {
		return nil, "", fmt.Errorf("--from-db: %w", err)
	}
	trace := func(yield func(fleet.PastJob, error) bool) {
		for _, j := range past {
			if !yield(j, nil) {
				return
			}
		}
	}
	return trace, fmt.Sprintf("The jobs are those that ended in the %s before %s.", c.Last, now.UTC().Format("2 January 2006 15:04 MST")), nil
}
