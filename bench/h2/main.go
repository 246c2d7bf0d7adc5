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
)

// options are what the command line says.
type options struct {
	short   bool
	doc     bool
	only    *regexp.Regexp // nil runs every section
	binary  string
	verbose bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "h2:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == "serve" {
		return serve(ctx, args[1], args[2] == "true", os.Stdin, os.Stdout)
	}
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
	if err := b.keep(); err != nil {
		return err
	}
	if n := len(b.report.misses()); n > 0 {
		return fmt.Errorf("%d targets were missed", n)
	}
	return nil
}

func parse(args []string) (options, error) {
	var o options
	var only string
	flags := flag.NewFlagSet("h2", flag.ContinueOnError)
	flags.BoolVar(&o.short, "short", false, "less than two minutes: to see that all works, not to quote")
	flags.BoolVar(&o.doc, "doc", false, "write the tables into "+docFile+", and the filmstrip beside it")
	flags.BoolVar(&o.verbose, "v", false, "show every load of a page")
	flags.StringVar(&only, "only", "", "run the sections whose names match this expression")
	flags.StringVar(&o.binary, "binary", "bin/spillway", "program that makes the pictures, and serves the large one")
	if err := flags.Parse(args); err != nil {
		return o, fmt.Errorf("read command line: %w", err)
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
		return "make bench-h2"
	}
	return `make bench-h2 ARGS="` + strings.Join(args, " ") + `"`
}
