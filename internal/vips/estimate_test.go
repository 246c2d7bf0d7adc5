package vips_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
	"github.com/spillway-media/spillway/internal/vips"
)

// measureWord is the argument that makes this test program carry out one plan
// and tell what it took.
const measureWord = "measure"

// trial is one plan to carry out in a process of its own, where the system's
// own high-water mark is that plan's.
type trial struct {
	Source string // a file
	Query  string // as in a URL
}

// taken is what a plan was expected to take, and what it took.
type taken struct {
	Cost, CPU      time.Duration
	Memory, Peak   int64
	Bytes          int // of the source
	Load           media.Load
	Width, Height  int
	Format, Output media.Format
}

// measure reads a trial and writes what was taken.
func measure(in io.Reader, out io.Writer) error {
	var t trial
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return err
	}
	engine, err := vips.New(vips.Config{AllowPDF: true})
	if err != nil {
		return err
	}
	src, err := os.ReadFile(t.Source)
	if err != nil {
		return err
	}
	plan, err := planOf(engine, src, t.Query)
	if err != nil {
		return err
	}
	width, height := plan.Outputs[0].Layout.Final()
	got := taken{
		Cost: plan.Cost, Memory: plan.Memory, Bytes: len(src), Load: plan.Load, Width: width, Height: height,
		Format: plan.Info.Format, Output: plan.Outputs[0].Encode.Format,
	}
	run := func() error {
		return engine.Run(context.Background(), src, nil, plan, func(int, transform.Made) (io.Writer, error) { return io.Discard, nil })
	}
	debug.FreeOSMemory()
	debug.SetGCPercent(-1)
	// What libvips, the codecs and the allocator take once is not the plan's;
	// the first run of a plan pays it, and is measured for its memory only.
	before := resident("RssAnon")
	if err := run(); err != nil {
		return err
	}
	got.Peak = resident("VmHWM") - resident("RssFile") - before
	for range 2 {
		began := cpuTime()
		if err := run(); err != nil {
			return err
		}
		if used := cpuTime() - began; got.CPU == 0 || used < got.CPU {
			got.CPU = used
		}
	}
	return json.NewEncoder(out).Encode(got)
}

func planOf(engine *vips.Engine, src []byte, query string) (*media.Plan, error) {
	limits := media.DefaultLimits()
	limits.Pixels, limits.Time = 1<<30, time.Hour
	info, err := engine.Probe(context.Background(), src, limits)
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	req, err := media.Parse(values, limits)
	if err != nil {
		return nil, err
	}
	return media.NewPlan(info, req, req.Format, engine.Abilities(), limits)
}

// resident reads a line of /proc/self/status in bytes.
func resident(name string) int64 {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// take carries a trial out.
func take(tb testing.TB, t trial) taken {
	tb.Helper()
	in, err := json.Marshal(t)
	if err != nil {
		tb.Fatal(err)
	}
	child := exec.CommandContext(tb.Context(), os.Args[0], measureWord)
	child.Stdin = bytes.NewReader(in)
	out, err := child.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		tb.Fatalf("%s?%s: %s", filepath.Base(t.Source), t.Query, failed.Stderr)
	}
	if err != nil {
		tb.Fatal(err)
	}
	var got taken
	if err := json.Unmarshal(out, &got); err != nil {
		tb.Fatal(err)
	}
	return got
}

// BenchmarkEstimate prints, for each source and what is made of it, how the
// cost and the memory that a plan tells stand to what it takes, and how many
// are within a factor of two. -bench 'Estimate/source=photo12' takes a part.
func BenchmarkEstimate(b *testing.B) {
	dir := b.TempDir()
	var costs, memories []float64
	for _, s := range estimated(b, dir) {
		b.Run("source="+s.name, func(b *testing.B) {
			for _, query := range s.queries {
				got := take(b, trial{s.file, query})
				cost := float64(got.Cost) / float64(max(got.CPU, time.Microsecond))
				memory := float64(got.Memory) / float64(max(got.Peak, 1<<20))
				costs, memories = append(costs, cost), append(memories, memory)
				fmt.Printf("%-16.16s %8d %-62s cost %8.1f ms of %8.1f ms = %5.2f   memory %6.1f MB of %6.1f MB = %5.2f\n", s.name, got.Bytes, query,
					float64(got.Cost)/1e6, float64(got.CPU)/1e6, cost, float64(got.Memory)/1e6, float64(got.Peak)/1e6, memory)
			}
			for b.Loop() { // the figures are what is of interest
			}
		})
	}
	tellSpread("cost", costs)
	tellSpread("memory", memories)
}

func tellSpread(what string, ratios []float64) {
	if len(ratios) == 0 {
		return
	}
	slices.Sort(ratios)
	within := 0
	var logs float64
	for _, r := range ratios {
		if r >= 0.5 && r <= 2 {
			within++
		}
		logs += math.Log(r)
	}
	fmt.Printf("%s: %d plans, %d within a factor of two; least %.2f, tenth %.2f, median %.2f, ninetieth %.2f, most %.2f, mean %.2f\n",
		what, len(ratios), within, ratios[0], ratios[len(ratios)/10], ratios[len(ratios)/2], ratios[len(ratios)*9/10],
		ratios[len(ratios)-1], math.Exp(logs/float64(len(ratios))))
}
