package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spillway-media/spillway/bench/load/pictures"
	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
	"github.com/spillway-media/spillway/bench/report"
)

// bench is one run of the program.
type bench struct {
	options
	folder   string // everything temporary, removed at the end
	program  string // the server under test
	floor    string // bare libvips
	set      *pictures.Set
	origin   *origin
	settings string // what the server's help lists
	report   *report.Report
	ladder   []step // for the plot
}

// sections are the parts of the table.
func (b *bench) sections() []report.Section {
	return []report.Section{
		{Name: "cpu", Title: "CPU of a request over the bare libvips pipeline with the same pre-shrink", Measure: b.cpu},
		{Name: "sizes", Title: "Three sizes in one request", Measure: b.sizes},
		{Name: "quality", Title: "What shrinking while loading does to the picture, and linear light", Measure: b.quality},
		{Name: "footprint", Title: "Footprint", Measure: b.footprint},
		{Name: "mixed", Title: "Mixed corpus, closed loop", Measure: b.mixed},
		{Name: "open", Title: "Open loop: Poisson arrivals, 12-MP JPEG to 300 WebP", Measure: b.open},
		{Name: "effort", Title: "Effort that falls with the wait", Measure: b.effort},
		{Name: "isolation", Title: "Slow origins and slow readers beside fast requests", Measure: b.isolation},
		{Name: "hot", Title: "One hot URL", Measure: b.hot},
		{Name: "cancel", Title: "Work that nobody wants any more", Measure: b.cancel},
		{Name: "bombs", Title: "Bombs", Measure: b.bombs},
		{Name: "answer", Title: "First byte, and requests that need no body", Measure: b.answer},
		{Name: "flush", Title: "Early flush against whole buffer, 4000-px JPEG", Measure: b.flush},
	}
}

func newBench(ctx context.Context, o options) (*bench, error) {
	folder, err := os.MkdirTemp("", "spillway-bench-")
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
	b.say("making pictures")
	if b.program, err = process.Binary(b.binary); err != nil {
		return err
	}
	help, err := exec.CommandContext(ctx, b.program, "serve", "--help").Output()
	if err != nil {
		return fmt.Errorf("ask the server for its settings: %w", err)
	}
	b.settings = string(help)
	version, err := version(ctx, b.program)
	if err != nil {
		return err
	}
	b.report.Fact("Server: " + version)
	if b.floor, err = buildFloor(ctx, b.folder); err != nil {
		return err
	}
	if b.set, err = (pictures.Plan{
		Folder: b.folder, Binary: b.program, Corpus: b.corpus, Names: 4096, Scale: 1,
	}).Make(ctx); err != nil {
		return err
	}
	b.origin, err = startOrigin(ctx, b.set.Root)
	return err
}

func version(ctx context.Context, program string) (string, error) {
	out, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return "", fmt.Errorf("ask the server for its version: %w", err)
	}
	return strings.Join(strings.Split(strings.TrimSpace(string(out)), "\n"), ", "), nil
}

func (b *bench) close() {
	if b.origin != nil {
		b.origin.close()
	}
	_ = os.RemoveAll(b.folder)
}

// style words the report: what is missed here is a bar.
func style() report.Style {
	return report.Style{What: "What", Spread: "Spread", Reached: "pass", Bars: "Bars", Loads: true}
}

// say tells what goes on, beside the table.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "load: "+format+"\n", args...)
}

// has tells whether the server knows a setting.
func (b *bench) has(setting string) bool { return strings.Contains(b.settings, "--"+setting) }

// serve starts a server over the pictures. Sharing results between requests is
// off; what else it does is as it comes.
func (b *bench) serve(ctx context.Context, flags ...string) (*process.Server, error) {
	return b.serveSharing(ctx, append([]string{"--cache-memory", "0"}, flags...)...)
}

// serveSharing starts a server as it comes, result cache and all.
func (b *bench) serveSharing(ctx context.Context, flags ...string) (*process.Server, error) {
	log := io.Discard
	if b.verbose {
		log = os.Stderr
	}
	flags = append([]string{"--source-root", b.set.Root, "--allow-source", b.origin.host(), "--allow-private-sources"}, flags...)
	return process.Start(ctx, b.program, b.folder, log, flags...)
}

// asset is the path of the next picture of a kind.
func (b *bench) asset(kind, query string) string {
	return "/assets/" + b.set.Next(kind) + "?" + query
}

// of gives targets of one kind to a load.
func (b *bench) of(kind, query string) func() string {
	return func() string { return b.asset(kind, query) }
}

// good asks once and wants a picture.
func good(ctx context.Context, client *traffic.Client, target string) (traffic.Sample, []byte, error) {
	var body bytes.Buffer
	s, _ := client.Fetch(ctx, target, nil, &body)
	if !s.OK() {
		return s, nil, fmt.Errorf("ask for %s: status %d: %.300s", target, s.Status, body.Bytes())
	}
	return s, body.Bytes(), nil
}

// stop stops a server; that it did not stop well is an error like others.
func stop(s *process.Server, err *error) { *err = errors.Join(*err, s.Stop()) }

// stripped is the size of the program as it would be shipped.
func (b *bench) stripped(ctx context.Context) (int64, error) {
	out := filepath.Join(b.folder, "stripped")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", out, "./cmd/spillway")
	if text, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build stripped program: %w: %s", err, text)
	}
	info, err := os.Stat(out)
	if err != nil {
		return 0, fmt.Errorf("measure stripped program: %w", err)
	}
	return info.Size(), nil
}
