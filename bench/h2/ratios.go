package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/spillway-media/spillway/bench/h2/site"
	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
	"github.com/spillway-media/spillway/bench/report"
)

// Bars of speed and cost, ours to Go's in the same run. Large bodies are to be
// equal; two servers that are equal differ by some per cent from run to run.
const (
	smallRate = 0.90
	largeRate = 0.97
	cpuLimit  = 1.10
)

// job is one call of h2load.
type job struct {
	name, path         string
	secure             bool
	requests, parallel int // over all connections, of which there are four
	bar                float64
}

var jobs = []job{
	{"small, h2c", "/small", false, 20000, 100, smallRate},
	{"small, TLS", "/small", true, 20000, 100, smallRate},
	{"1 MiB, h2c", "/large", false, 600, 10, largeRate},
	{"1 MiB, TLS", "/large", true, 600, 10, largeRate},
}

// ours names our server for a child.
const ours = "ours"

// runner is a server under load and what came of it, by round.
type runner struct {
	child      *child
	rates, cpu []float64 // requests a second; microseconds a request
}

func (b *bench) ratios(ctx context.Context) error {
	program, err := exec.LookPath("h2load")
	if err != nil {
		return fmt.Errorf("find h2load: %w (Debian has it in nghttp2-client)", err)
	}
	t := b.report.Table("Body", "Server", "requests/s", "rounds", "CPU a request", "rounds")
	for _, j := range jobs {
		if err := b.compare(ctx, program, j, t); err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
	}
	b.report.Note("h2load, 4 connections with 100 streams each for small bodies (%d bytes), 10 for 1 MiB. Servers are processes of their own and take turns; medians. "+
		"Where a ratio is a target, it is that of neighbouring rounds, and its median.", len(site.SmallBody))
	return nil
}

// compare runs a job against both servers in turn.
func (b *bench) compare(ctx context.Context, program string, j job, t *report.Table) (err error) {
	names := []string{ours, site.Std().Name}
	runners := make([]*runner, len(names))
	for i, name := range names {
		c, fault := startChild(name, j.secure)
		if fault != nil {
			return errors.Join(err, fault)
		}
		defer func() { err = errors.Join(err, c.close()) }()
		runners[i] = &runner{child: c}
	}
	for round := range b.Rounds(9) + 1 {
		for i := range runners {
			r := runners[(i+round)%len(runners)]
			if err := r.run(ctx, program, j, round == 0); err != nil {
				return err
			}
		}
	}
	var rates, costs []float64
	for i := range runners[0].rates {
		rates = append(rates, runners[0].rates[i]/runners[1].rates[i])
		costs = append(costs, runners[0].cpu[i]/runners[1].cpu[i])
	}
	for i, r := range runners {
		t.Add(j.name, names[i], fmt.Sprintf("%.0f", traffic.Median(r.rates)), spread("%.0f", r.rates),
			fmt.Sprintf("%.0f us", traffic.Median(r.cpu)), spread("%.0f", r.cpu))
	}
	b.report.AtLeast(j.name+": throughput to Go's", "%.2f", j.bar, traffic.Median(rates), "", spread("%.2f", rates))
	b.report.AtMost(j.name+": CPU a request to Go's", "%.2f", cpuLimit, traffic.Median(costs), "", spread("%.2f", costs))
	return nil
}

var (
	finished  = regexp.MustCompile(`finished in [^,]+, ([\d.]+) req/s`)
	succeeded = regexp.MustCompile(`(\d+) succeeded`)
)

// run loads once; the first time is to warm up, and is not counted.
func (r *runner) run(ctx context.Context, program string, j job, warm bool) error {
	scheme := "http://"
	if j.secure {
		scheme = "https://"
	}
	before, err := process.CPU(r.child.pid)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, program, "-n", strconv.Itoa(j.requests), "-c", "4", "-m", strconv.Itoa(j.parallel), scheme+r.child.address+j.path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("run h2load: %w: %.300s", err, out)
	}
	after, err := process.CPU(r.child.pid)
	if err != nil {
		return err
	}
	rate, ok := finished.FindSubmatch(out), succeeded.FindSubmatch(out)
	if rate == nil || ok == nil || string(ok[1]) != strconv.Itoa(j.requests) {
		return fmt.Errorf("h2load did not get all answers: %.600s", out)
	}
	if warm {
		return nil
	}
	value, err := strconv.ParseFloat(string(rate[1]), 64)
	if err != nil {
		return fmt.Errorf("read rate of h2load: %w", err)
	}
	r.rates = append(r.rates, value)
	r.cpu = append(r.cpu, float64((after-before).Nanoseconds())/1e3/float64(j.requests))
	return nil
}
