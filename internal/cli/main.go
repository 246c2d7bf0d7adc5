package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/term"
)

// System is what a command may touch of the process it runs in.
type System struct {
	Stdout, Stderr io.Writer
	Environ        []string
	Hurry          *Hurry // nil: there is no second signal
}

// terminal tells whether w shows what is written to a person at once.
func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// session is one run of the program, as the commands see it.
type session struct{ System }

// Main runs one command line and gives the exit code of the process. It
// returns early, with work stopped, when ctx ends.
func Main(ctx context.Context, args []string, system System) int {
	err := run(ctx, &session{system}, args)
	if err == nil {
		return exitOK
	}
	if !errors.Is(err, errSilent) {
		for line := range strings.Lines(err.Error()) {
			_, _ = fmt.Fprintf(system.Stderr, "spillway: %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	return exitCode(ctx, err)
}

func run(ctx context.Context, s *session, args []string) error {
	shown := false
	parser, err := newParser(s, grammarFor(args), func(int) { shown = true })
	if err != nil {
		return fmt.Errorf("build command line: %w", err)
	}
	command, err := parser.Parse(args)
	if shown {
		// kong goes on after help was printed unless the process ends, and
		// then finds fault with what --help left out.
		return nil
	}
	if err != nil {
		return explainUse(s, err)
	}
	command.BindTo(ctx, (*context.Context)(nil))
	return hint(command.Run(), command)
}

// explainUse tells where help is. Who named no command is shown it at once.
func explainUse(s *session, err error) error {
	parse, ok := errors.AsType[*kong.ParseError](err)
	if !ok || parse.Context == nil {
		return err
	}
	if parse.Context.Error == nil && unfinished(parse.Context) {
		parse.Context.Stdout = s.Stderr
		return usageError{errors.Join(errSilent, parse.Context.PrintUsage(false))}
	}
	return hint(err, parse.Context)
}

// unfinished tells whether a command is still to be named.
func unfinished(command *kong.Context) bool {
	last := command.Selected()
	if last == nil {
		last = command.Model.Node
	}
	return len(last.Children) > 0
}

// hint tells where help is, for mistakes on the command line only.
func hint(err error, command *kong.Context) error {
	if !isUsage(err) {
		return err
	}
	path := "spillway"
	if command.Selected() != nil {
		path = command.Selected().FullPath()
	}
	return fmt.Errorf("%w\nsee %s --help", err, path)
}
