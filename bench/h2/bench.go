package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spillway-media/spillway/bench/h2/link"
	"github.com/spillway-media/spillway/bench/h2/site"
	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
)

// bench is one run of the program.
type bench struct {
	options
	folder   string // everything temporary, removed at the end
	program  string // bin/spillway
	pictures []*site.Picture
	link     *link.Link
	report   *report
	strip    []byte // the filmstrip, for docs
}

// section is a part of the report.
type section struct {
	name, title string
	measure     func(b *bench, ctx context.Context) error
}

var sections = []section{
	{"page", "A page of pictures through one connection", (*bench).page},
	{"late", "A small urgent answer while pictures load", (*bench).late},
	{"first", "A large picture by the whole of Spillway", (*bench).first},
	{"fairness", "Fairness of the scheduler", (*bench).fairness},
	{"ratios", "Speed and cost beside Go's server", (*bench).ratios},
	{"film", "What a browser shows meanwhile", (*bench).film},
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
	b := &bench{options: o, folder: folder, report: newReport(o.command())}
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

// run measures section after section; none disturbs another. What was measured
// before an error is kept.
func (b *bench) run(ctx context.Context) error {
	began, err := process.Look(time.Now())
	if err != nil {
		return err
	}
	if !traffic.Wait(ctx, time.Second) {
		return ctx.Err()
	}
	if err := b.report.begin(began, time.Now()); err != nil {
		return err
	}
	var faults []error
	for _, s := range sections {
		if ctx.Err() != nil {
			break
		}
		if b.only != nil && !b.only.MatchString(s.name) {
			continue
		}
		b.say(s.name)
		if err := b.report.section(s.title, func() error { return s.measure(b, ctx) }); err != nil {
			faults = append(faults, fmt.Errorf("measure %s: %w", s.name, err))
		}
	}
	return errors.Join(append(faults, ctx.Err(), b.report.end(time.Now()))...)
}

// say tells what goes on, beside the report.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "h2: "+format+"\n", args...)
}
