package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spillway-media/spillway/internal/jobsclient"
	"github.com/spillway-media/spillway/jobs"
)

// enqueueCommand asks for a job.
type enqueueCommand struct {
	Type string `arg:"" name:"type" help:"Type of the job, such as image.derive or bulk.derive."`
	where

	Input  string   `name:"input" placeholder:"KEY-OR-URL" help:"The original: a key below source-root, a URL, s3://BUCKET/KEY, or upload:ID."`
	Param  []string `name:"param" sep:"none" placeholder:"KEY=VALUE" help:"A parameter of the job; repeatable. A value that is JSON is taken as that, any other as text."`
	Queue  string   `name:"queue" placeholder:"NAME" help:"Queue to wait in; otherwise that of the type."`
	Tenant string   `name:"tenant" placeholder:"NAME" help:"Whom the job is for; tenants take turns."`

	Priority       int           `name:"priority" placeholder:"1-10" help:"1 goes first; otherwise that of the type."`
	Delay          time.Duration `name:"delay" placeholder:"TIME" help:"Begin after this time."`
	MaxAttempts    int           `name:"max-attempts" placeholder:"N" help:"How often it may fail before it is given up; otherwise 5."`
	WorkLimit      time.Duration `name:"work-limit" placeholder:"TIME" help:"Longest time of one attempt; otherwise 1h."`
	WaitLimit      time.Duration `name:"wait-limit" placeholder:"TIME" help:"Give it up when it could not begin for so long; otherwise it waits for ever."`
	IdempotencyKey string        `name:"idempotency-key" placeholder:"KEY" help:"When a job with this key is kept, that one is meant and no other is made."`
	UniqueKey      string        `name:"unique-key" placeholder:"KEY" help:"The same, but only while the other waits or runs."`
	Webhook        string        `name:"webhook" placeholder:"URL" help:"Address that is told of the end."`

	Wait  bool `name:"wait" help:"Wait for the end; the exit code is 0 only when the job succeeded, 3 when it failed, 4 when it was cancelled."`
	Watch bool `name:"watch" help:"Wait, and show the progress."`
	JSON  bool `name:"json" help:"Print the job as one line of JSON; with --wait the last line is the finished job."`

	Picture picture `embed:"" group:"Picture"`
}

// Help is the rest of what --help tells.
func (c *enqueueCommand) Help() string {
	return `The flags under Picture are the parameters of image.derive and bulk.derive; --format may name several, as in webp,avif. --param gives what has no flag:

  spillway enqueue image.derive --input lake.jpg --sizes 300x0,1200x0 --format webp --watch
  spillway enqueue bulk.derive --param prefix=summer/ --sizes 600x0 --format avif
  spillway enqueue bulk.derive --param 'inputs=["a.jpg","b.jpg"]' --sizes 600x0 --wait --json

The job is safe once its number is printed, whatever happens to this command or to the worker. Where a server runs on the same database, or a worker, it finds the job within seconds; where none does, the job waits.`
}

// Run asks, and waits when it is told to.
func (c *enqueueCommand) Run(ctx context.Context, s *session) error {
	spec, err := c.spec()
	if err != nil {
		return err
	}
	d, end, err := c.open(ctx, s, true)
	if err != nil {
		return err
	}
	defer end()
	entered, err := d.Enqueue(ctx, spec)
	if err != nil {
		return refusal(err)
	}
	waits := c.Wait || c.Watch
	if c.JSON {
		err = writeLine(s.Stdout, entered)
	} else if !c.Watch || !terminal(s.Stderr) {
		_, err = fmt.Fprintln(s.Stdout, enteredText(entered))
	}
	if err == nil && !c.JSON {
		err = c.warnAlone(ctx, s, d, entered.Document)
	}
	if err != nil || !waits {
		return err
	}
	return follow(ctx, s, d, entered.ID, following{bar: c.Watch, json: c.JSON, outputs: c.outputs()})
}

func enteredText(e jobsclient.Entered) string {
	if e.Existing {
		return fmt.Sprintf("job %s has this key already; it is %s", e.ID, e.State)
	}
	return fmt.Sprintf("job %s waits in %s", e.ID, e.Queue)
}

// spec is what the flags ask for.
func (c *enqueueCommand) spec() (jobs.Spec, error) {
	params, err := c.params()
	if err != nil {
		return jobs.Spec{}, err
	}
	return jobs.Spec{
		Type: c.Type, Queue: c.Queue, Priority: c.Priority, Tenant: c.Tenant, Input: c.Input, Params: params,
		IdempotencyKey: c.IdempotencyKey, UniqueKey: c.UniqueKey, Delay: c.Delay, MaxAttempts: c.MaxAttempts,
		WorkLimit: c.WorkLimit, WaitLimit: c.WaitLimit, Webhook: c.Webhook,
	}, nil
}

// params is the flags of the picture, and --param over them.
func (c *enqueueCommand) params() (json.RawMessage, error) {
	params := map[string]any{}
	for name, values := range c.Picture.query() {
		params[name] = pictureValue(name, values[0])
	}
	for _, pair := range c.Param {
		name, text, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usagef("--param %s: write KEY=VALUE", pair)
		}
		params[name] = paramValue(text)
	}
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("write params: %w", err)
	}
	return encoded, nil
}

var plainNumber = regexp.MustCompile(`^-?(0|[1-9]\d{0,8})(\.\d{1,9})?$`)

// pictureValue is a number where the flag gives one, but a colour is none even
// if all its digits are decimal.
func pictureValue(name, text string) any {
	switch {
	case text == "true":
		return true
	case name != "background" && plainNumber.MatchString(text):
		return json.RawMessage(text)
	}
	return text
}

// paramValue is JSON where it is that, else the text itself.
func paramValue(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

// refusal makes a fault of what was asked for a mistake on the command line,
// one line a field.
func refusal(err error) error {
	if faults := jobs.SpecErrors(err); len(faults) > 0 {
		var lines []error
		for _, fault := range faults {
			lines = append(lines, fault)
		}
		return usageError{errors.Join(lines...)}
	}
	if problem, ok := errors.AsType[*jobsclient.ProblemError](err); ok && problem.Faulty() {
		return usageError{problem}
	}
	return err
}
