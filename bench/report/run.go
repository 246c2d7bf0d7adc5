package report

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"time"

	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
)

// Section is a part of a run, and of its report.
type Section struct {
	Name, Title string
	Measure     func(context.Context) error
}

// Run measures section after section, only those whose names match unless only
// is nil; none disturbs another. What was measured before an error is kept.
func (r *Report) Run(ctx context.Context, sections []Section, only *regexp.Regexp, say func(format string, args ...any)) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	var faults []error
	for _, s := range sections {
		if ctx.Err() != nil {
			break
		}
		if only != nil && !only.MatchString(s.Name) {
			continue
		}
		say("%s", s.Name)
		if err := r.section(ctx, s); err != nil {
			faults = append(faults, fmt.Errorf("measure %s: %w", s.Name, err))
		}
	}
	ended, err := process.Look(time.Now())
	r.ended = ended
	return errors.Join(append(faults, ctx.Err(), err)...)
}

// begin looks for a second at what the machine does while we do nothing.
func (r *Report) begin(ctx context.Context) error {
	look, err := process.Look(time.Now())
	if err != nil {
		return err
	}
	if !traffic.Wait(ctx, time.Second) {
		return ctx.Err()
	}
	r.loadBefore = process.Load()
	if r.began, err = process.Look(time.Now()); err == nil {
		r.before = r.began.Since(look, 0)
	}
	return err
}

// section runs a measurement; what it adds goes into a part of its own.
func (r *Report) section(ctx context.Context, s Section) error {
	p := &part{title: s.Title}
	r.parts = append(r.parts, p)
	before, err := process.Look(time.Now())
	if err != nil {
		return err
	}
	own := process.Own()
	p.err = s.Measure(ctx)
	after, err := process.Look(time.Now())
	if err != nil {
		return err
	}
	p.took, p.noise = after.At.Sub(before.At), after.Since(before, 0)
	p.own = (process.Own() - own).Seconds() / p.took.Seconds() / float64(runtime.NumCPU())
	return p.err
}
