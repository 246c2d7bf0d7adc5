package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/app/settings"
)

// configCommand groups what can be done with settings.
type configCommand struct {
	Check checkCommand `cmd:"" help:"Check the settings; print the effective ones and where each comes from."`
}

// checkCommand validates the layers without starting anything.
type checkCommand struct {
	Path       string `arg:"" optional:"" help:"File of settings, instead of the usual places."`
	ConfigFile string `name:"config" placeholder:"FILE" help:"The same, as a flag."`
	Scheduler  string `name:"scheduler-config" placeholder:"FILE" help:"The scheduler's file, instead of the one that the settings name."`
	JSON       bool   `name:"json" help:"Print JSON."`
}

// effective is one setting as it would be used.
type effective struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// Run lists every fault and fails, or prints every setting.
func (c *checkCommand) Run(ctx context.Context, s *session) error {
	path, given := c.Path, map[string]string{}
	switch {
	case path != "":
		given["config"] = "argument PATH"
	case c.ConfigFile != "":
		path, given["config"] = c.ConfigFile, "flag --config"
	}
	loaded, err := settings.Load(s.Environ, path)
	if loaded == nil {
		return err
	}
	below := layers{loaded: loaded, given: given}
	for _, warning := range loaded.Warnings {
		_, _ = fmt.Fprintln(s.Stderr, "spillway: warning:", warning)
	}
	config := loaded.Config()
	origin := loaded.Origin
	if c.Scheduler != "" {
		config.SchedulerConfig = c.Scheduler
		origin = func(key string) string {
			if key == "scheduler-config" {
				return "flag --scheduler-config"
			}
			return loaded.Origin(key)
		}
	}
	err = errors.Join(err, app.Check(config))
	scheduler, fault := app.CheckScheduler(ctx, config, time.Now())
	if err := errors.Join(err, fault); err != nil {
		return below.locate(err)
	}
	if scheduler != nil {
		for _, warning := range scheduler.Warnings {
			_, _ = fmt.Fprintf(s.Stderr, "spillway: warning: %s (%s)\n", warning, scheduler.File)
		}
	}
	if c.JSON {
		return writeJSON(s.Stdout, checkReport{loaded.Path, list(origin, config), config.Presets, scheduler})
	}
	return errors.Join(printSettings(s, loaded.Path, origin, config), printScheduler(s, scheduler))
}

// printScheduler tells which file counts, and what credits came to.
func printScheduler(s *session, check *app.SchedulerCheck) error {
	if check == nil {
		return nil
	}
	_, _ = fmt.Fprintf(s.Stdout, "\n%s is in order: mode %s, policy %s, %s\n", check.File, check.Mode, check.Policy, warningsText(len(check.Warnings)))
	if len(check.Credits) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(table, "queue\tjobs in 30 days\tcredits\tcost\tmargin\n")
	for _, c := range check.Credits {
		earned, margin := "-", "-" // without credit_cents_per_job there is nothing to compare
		if c.Earned > 0 {
			earned, margin = c.Earned.String(), fmt.Sprintf("%.1f %%", c.Margin)
		}
		_, _ = fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\n", c.Queue, c.Jobs, earned, c.Cost, margin)
	}
	return table.Flush()
}

func warningsText(n int) string {
	if n == 1 {
		return "1 warning"
	}
	return fmt.Sprintf("%d warnings", n)
}

// checkReport is the JSON of config check.
type checkReport struct {
	File     string            `json:"file"`
	Settings []effective       `json:"settings"`
	Presets  map[string]string `json:"presets"`
	// Scheduler is left out without a file of it.
	Scheduler *app.SchedulerCheck `json:"scheduler,omitempty"`
}

func list(origin func(key string) string, config settings.Config) []effective {
	var all []effective
	for _, s := range settings.All() {
		all = append(all, effective{s.Key, s.Shown(config), origin(s.Key)})
	}
	return all
}

func printSettings(s *session, path string, origin func(key string) string, config settings.Config) error {
	table := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
	for _, one := range list(origin, config) {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", one.Key, orDash(one.Value), one.Origin)
	}
	for _, name := range sortedKeys(config.Presets) {
		_, _ = fmt.Fprintf(table, "presets.%s\t%s\t%s\n", name, config.Presets[name], path)
	}
	return table.Flush()
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func writeJSON(w interface{ Write([]byte) (int, error) }, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
