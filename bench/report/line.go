package report

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
)

// Main runs a program until it is done or told to stop, and gives its exit code.
// What went wrong is told by the program's name.
func Main(name string, run func(ctx context.Context, args []string) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		return 1
	}
	return 0
}

// Line is what every program's command line says of a run.
type Line struct {
	Make  string // what to type for the whole run
	Short bool
	Only  *regexp.Regexp // nil runs every section
}

// Parse reads the command line by the flags of the program, among which Short
// is one, and by -only, which it adds.
func (l *Line) Parse(flags *flag.FlagSet, args []string) error {
	only := flags.String("only", "", "run the sections whose names match this expression")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("read command line: %w", err)
	}
	if *only == "" {
		return nil
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("read -only: %w", err)
	}
	l.Only = pattern
	return nil
}

// Rounds is how often things take turns.
func (l Line) Rounds(full int) int {
	if l.Short {
		return max(1, full/3)
	}
	return full
}

// Command is what to type for this run again.
func (l Line) Command() string {
	var args []string
	if l.Short {
		args = append(args, "-short")
	}
	if l.Only != nil {
		args = append(args, "-only "+l.Only.String())
	}
	if len(args) == 0 {
		return l.Make
	}
	return l.Make + ` ARGS="` + strings.Join(args, " ") + `"`
}
