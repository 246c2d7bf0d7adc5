package report_test

import (
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/bench/report"
)

func read(args string) (report.Line, error) {
	l := report.Line{Make: "make bench"}
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&l.Short, "short", false, "")
	flags.Bool("doc", false, "")
	err := l.Parse(flags, strings.Fields(args))
	return l, err
}

func TestShortRunsNameThemselves(t *testing.T) {
	for args, want := range map[string]string{
		"":                  "make bench",
		"-short":            `make bench ARGS="-short"`,
		"-short -only cpu":  `make bench ARGS="-short -only cpu"`,
		"-doc -only=^open$": `make bench ARGS="-only ^open$"`,
		"-only=":            "make bench",
	} {
		if l, err := read(args); err != nil || l.Command() != want {
			t.Errorf("%q is told as %q, %v; want %q", args, l.Command(), err, want)
		}
	}
	for _, broken := range []string{"-only (", "-nothing"} {
		if _, err := read(broken); err == nil {
			t.Errorf("%q is no error", broken)
		}
	}
}

func TestShortRunsTakeAThirdOfTheTurns(t *testing.T) {
	for _, c := range []struct{ full, short int }{{9, 3}, {7, 2}, {1, 1}} {
		if got := (report.Line{}).Rounds(c.full); got != c.full {
			t.Errorf("%d rounds become %d", c.full, got)
		}
		if got := (report.Line{Short: true}).Rounds(c.full); got != c.short {
			t.Errorf("%d rounds become %d in a short run, want %d", c.full, got, c.short)
		}
	}
}
