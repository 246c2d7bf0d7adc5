package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// options are what the command line says.
type options struct {
	short     bool
	doc, plot bool
	only      *regexp.Regexp // nil runs every section
	binary    string
	corpus    string
	verbose   bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	err = b.run(ctx)
	b.report.write(os.Stdout)
	if err != nil {
		return err
	}
	return b.keep()
}

func parse(args []string) (options, error) {
	var o options
	var only string
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.BoolVar(&o.short, "short", false, "less than three minutes: to see that all works, not to quote")
	flags.BoolVar(&o.doc, "doc", false, "write the table into "+docFile)
	flags.BoolVar(&o.plot, "plot", false, "write the plot to "+plotFile)
	flags.BoolVar(&o.verbose, "v", false, "show the server's log")
	flags.StringVar(&only, "only", "", "run the sections whose names match this expression")
	flags.StringVar(&o.binary, "binary", "bin/spillway", "server to measure")
	flags.StringVar(&o.corpus, "corpus", os.Getenv("SPILLWAY_CORPUS"), "folder of real pictures; otherwise ../shared/corpus where it is there")
	if err := flags.Parse(args); err != nil {
		return o, fmt.Errorf("read command line: %w", err)
	}
	if o.corpus == "" {
		o.corpus = "../shared/corpus"
	}
	if only != "" {
		pattern, err := regexp.Compile(only)
		if err != nil {
			return o, fmt.Errorf("read -only: %w", err)
		}
		o.only = pattern
	}
	return o, nil
}

// span is the length of a measurement, given that of the full run.
func (o options) span(full time.Duration) time.Duration {
	if o.short {
		return max(full/4, time.Second)
	}
	return full
}

// rounds is how often things take turns.
func (o options) rounds(full int) int {
	if o.short {
		return max(1, full/3)
	}
	return full
}

// command is what to type for this run again.
func (o options) command() string {
	var args []string
	if o.short {
		args = append(args, "-short")
	}
	if o.only != nil {
		args = append(args, "-only "+o.only.String())
	}
	if len(args) == 0 {
		return "make bench"
	}
	return `make bench ARGS="` + strings.Join(args, " ") + `"`
}
