package main

import (
	"context"
	"flag"
	"os"
	"time"

	"github.com/spillway-media/spillway/bench/report"
)

// options are what the command line says.
type options struct {
	report.Line
	doc, plot bool
	binary    string
	corpus    string
	verbose   bool
}

func main() { os.Exit(report.Main("load", run)) }

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
	err = b.report.Run(ctx, b.sections(), b.Only, b.say)
	b.report.Write(os.Stdout)
	if err != nil {
		return err
	}
	return b.keep()
}

func parse(args []string) (options, error) {
	o := options{Line: report.Line{Make: "make bench"}}
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.BoolVar(&o.Short, "short", false, "less than three minutes: to see that all works, not to quote")
	flags.BoolVar(&o.doc, "doc", false, "write the table into "+docFile)
	flags.BoolVar(&o.plot, "plot", false, "write the plot to "+plotFile)
	flags.BoolVar(&o.verbose, "v", false, "show the server's log")
	flags.StringVar(&o.binary, "binary", "bin/spillway", "server to measure")
	flags.StringVar(&o.corpus, "corpus", os.Getenv("SPILLWAY_CORPUS"), "folder of real pictures; otherwise ../shared/corpus where it is there")
	if err := o.Parse(flags, args); err != nil {
		return o, err
	}
	if o.corpus == "" {
		o.corpus = "../shared/corpus"
	}
	return o, nil
}

// span is the length of a measurement, given that of the full run.
func (o options) span(full time.Duration) time.Duration {
	if o.Short {
		return max(full/4, time.Second)
	}
	return full
}
