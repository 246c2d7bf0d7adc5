package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/httpapi"
)

// workCommand works on jobs until it is told to stop.
type workCommand struct {
	serveCommand `embed:""`
}

// Help is the rest of what --help tells.
func (c *workCommand) Help() string {
	return `It takes jobs of --queues from the database, as many at once as --max and the machine allow, and looks after those of workers that died. It serves nothing but metrics and health on --admin-listen.

The first signal to stop makes it take no more jobs and gives those that run --job-drain-timeout to end; after that, or at the second signal, they go to another worker, which goes on where they were. The exit code is not 0 when it could not begin, for want of a database or of one that this version can use.`
}

// Run works.
func (c *workCommand) Run(ctx context.Context, s *session) error { return c.serve(ctx, s, app.Work) }

// migrateCommand prepares a database.
type migrateCommand struct {
	layers
	Storage settings.Storage `embed:"" group:"Files"`
	Durable settings.Durable `embed:"" group:"Jobs"`
	JSON    bool             `name:"json" help:"Print JSON."`
}

// Help is the rest of what --help tells.
func (c *migrateCommand) Help() string {
	return `Run it before the first start and with every new version, before its processes start; those of the last version go on meanwhile. It can be run again at any time, and by several at once. A database in a file needs none of it: whoever opens it brings it up to date.`
}

// Run migrates.
func (c *migrateCommand) Run(ctx context.Context, s *session) error {
	at := where{layers: c.layers, Storage: c.Storage, Durable: c.Durable}
	config, err := at.config()
	if err != nil {
		return err
	}
	report, err := app.Migrate(ctx, config)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.Stdout, report)
	}
	if report.From == report.To {
		_, err = fmt.Fprintf(s.Stdout, "the database has version %d already\n", report.To)
	} else {
		_, err = fmt.Fprintf(s.Stdout, "the database went from version %d to %d\n", report.From, report.To)
	}
	return err
}

// tokenCommand makes a token.
type tokenCommand struct {
	Name     string `arg:"" name:"name" help:"Whose it is, as logs show it: letters, digits, -, _ and dots."`
	ReadOnly bool   `name:"read-only" help:"Let it ask, and change nothing."`
	Append   string `name:"append" placeholder:"FILE" help:"Also write its line to the end of this file of tokens."`
	JSON     bool   `name:"json" help:"Print JSON."`
}

// Help is the rest of what --help tells.
func (c *tokenCommand) Help() string {
	return `It prints the token, which is kept nowhere and cannot be printed again, and below it the line for the file that api-token-file names. A server reads that file when it starts.`
}

// Run prints it.
func (c *tokenCommand) Run(s *session) error {
	token, line, err := httpapi.NewToken(c.Name, c.ReadOnly)
	if err != nil {
		return usageError{err}
	}
	if c.Append != "" {
		if err := appendLine(c.Append, line); err != nil {
			return err
		}
	}
	if c.JSON {
		return writeJSON(s.Stdout, map[string]string{"name": c.Name, "token": token, "line": line})
	}
	_, err = fmt.Fprintf(s.Stdout, "%s\n%s\n", token, line)
	return err
}

// appendLine makes the file when it is not there. It holds hashes only, but who
// may ask is nobody else's business. What a server would not start with is left
// as it was.
func appendLine(path, line string) error {
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read file of tokens: %w", err)
	}
	if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
		line = "\n" + line
	}
	if _, err := httpapi.ParseTokens(slices.Concat(before, []byte(line))); err != nil {
		return fmt.Errorf("a server would not take %q with one more token; mend it first, or take another name: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open file of tokens: %w", err)
	}
	_, err = fmt.Fprintln(file, line)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write file of tokens: %w", err)
	}
	return nil
}
