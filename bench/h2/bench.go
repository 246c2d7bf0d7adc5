package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spillway-media/spillway/bench/h2/link"
	"github.com/spillway-media/spillway/bench/h2/site"
	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/report"
)

// bench is one run of the program.
type bench struct {
	options
	folder   string // everything temporary, removed at the end
	program  string // bin/spillway
	pictures []*site.Picture
	link     *link.Link
	report   *report.Report
	strip    []byte // the filmstrip, for docs
}

// sections are the parts of the report.
func (b *bench) sections() []report.Section {
	return []report.Section{
		{Name: "page", Title: "A page of pictures through one connection", Measure: b.page},
		{Name: "late", Title: "A small urgent answer while pictures load", Measure: b.late},
		{Name: "first", Title: "A large picture by the whole of Spillway", Measure: b.first},
		{Name: "fairness", Title: "Fairness of the scheduler", Measure: b.fairness},
		{Name: "ratios", Title: "Speed and cost beside Go's server", Measure: b.ratios},
		{Name: "film", Title: "What a browser shows meanwhile", Measure: b.film},
	}
}

// The set of pictures is the same in every run; of this seed the first 20, 50
// and 100 are together about as large as the distribution has them.
const (
	most = 100
	seed = 19
)

func newBench(ctx context.Context, o options) (*bench, error) {
	folder, err := os.MkdirTemp("", "spillway-bench-h2-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	b := &bench{options: o, folder: folder, report: report.New(o.Command(), style())}
	if err := b.prepare(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// prepare makes all that is needed before anything is measured.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.link, err = link.New(ctx); err != nil {
		return err
	}
	if b.program, err = process.Binary(b.binary); err != nil {
		return err
	}
	b.say("making %d pictures", most)
	plan := site.Plan{Binary: b.program, Folder: filepath.Join(b.folder, "pictures"), Count: most, Seed: seed}
	b.pictures, err = plan.Make(ctx)
	return err
}

func (b *bench) close() {
	if b.link != nil {
		b.link.Close()
	}
	_ = os.RemoveAll(b.folder)
}

// style words the report: what is missed here is a target.
func style() report.Style {
	return report.Style{What: "Target", Spread: "Rounds", Reached: "reached", Bars: "Targets"}
}

// say tells what goes on, beside the report.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "h2: "+format+"\n", args...)
}
