package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/spillway-media/spillway/bench/report"
)

// options are what the command line says.
type options struct {
	report.Line
	doc     bool
	binary  string
	verbose bool
}

func main() { os.Exit(report.Main("h2", run)) }

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
	err = b.report.Run(ctx, b.sections(), b.Only, b.say)
	b.report.Write(os.Stdout)
	if err != nil {
		return err
	}
	if err := b.keep(); err != nil {
		return err
	}
	if n := len(b.report.Misses()); n > 0 {
		return fmt.Errorf("%d targets were missed", n)
	}
	return nil
}

func parse(args []string) (options, error) {
	o := options{Line: report.Line{Make: "make bench-h2"}}
	flags := flag.NewFlagSet("h2", flag.ContinueOnError)
	flags.BoolVar(&o.Short, "short", false, "less than two minutes: to see that all works, not to quote")
	flags.BoolVar(&o.doc, "doc", false, "write the tables into "+docFile+", and the filmstrip beside it")
	flags.BoolVar(&o.verbose, "v", false, "show every load of a page")
	flags.StringVar(&o.binary, "binary", "bin/spillway", "program that makes the pictures, and serves the large one")
	err := o.Parse(flags, args)
	return o, err
}

// spread is the range of a figure over the rounds it is the median of.
func spread(format string, values []float64) string {
	return report.Spread(format, " in %d", values)
}
