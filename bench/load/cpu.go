package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/bench/load/pictures"
	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
)

// overFloor is the bar of CPU over bare libvips.
const overFloor = 1.05

// duel is one request against the same work by bare libvips.
type duel struct {
	name, kind, query string
	load              string   // as the server loads it
	outputs           []string // width and suffix, in turn
	fetched           bool     // from the origin instead of the folder
}

const (
	webp80 = ".webp[Q=80,effort=4,strip]"
	webp60 = ".webp[Q=60,effort=4,strip]"

	libvipsJPEG = ".jpg[Q=80,optimize_coding,strip]" //nolint:misspell // a name of libvips
)

// duels are the kinds of sources. The scale at load is the one the planner
// chooses: at least twice the wanted size is left to the better filter.
func duels() []duel {
	to300 := "sizes=300x0&format=webp&quality=60"
	out := []string{"300", webp60}
	return []duel{
		{"12-MP JPEG, generated", pictures.Photo12, to300, "shrink=4,access=sequential", out, false},
		{"12-MP JPEG, camera", pictures.Camera, to300, "shrink=4,access=sequential", out, false},
		{"12-MP progressive JPEG", pictures.Progressive, to300, "shrink=4,access=sequential", out, false},
		{"6-MP JPEG", pictures.Photo6, to300, "shrink=4,access=sequential", out, false},
		{"24-MP JPEG", pictures.Photo24, to300, "shrink=8,access=sequential", out, false},
		{"PNG with alpha, 3000x2250", pictures.Alpha, to300, "access=sequential", out, false},
		{"WebP, 2725x2225", pictures.WebP, to300, "scale=0.22018,access=sequential", out, false},
		{"AVIF, 2725x2225", pictures.AVIF, to300, "access=sequential", out, false},
		{"12-MP JPEG to AVIF", pictures.Photo12, "sizes=300x0&format=avif", "shrink=4,access=sequential", []string{"300", ".avif[Q=50,effort=1,bitdepth=8,strip]"}, false},
		{"12-MP JPEG to 1200 JPEG", pictures.Photo12, "sizes=1200x0&format=jpeg", "access=sequential", []string{"1200", libvipsJPEG}, false},
		{"GIF of 40 frames to animated WebP", pictures.GIF, to300, "n=-1", out, false},
		{"GIF of 40 frames to GIF", pictures.GIF, "sizes=300x0&format=gif", "n=-1", []string{"300", ".gif[effort=7,strip]"}, false},
	}
}

// tally is what a duel comes to.
type tally struct {
	ratios               []float64
	server, floor        float64 // CPU milliseconds a request
	serverBytes, perBare int64
	requests             int // made by the server
}

func (t tally) ratio() float64 { return traffic.Median(t.ratios) }

func (t tally) more() string {
	return fmt.Sprintf(" (%.1f ms, libvips %.1f ms; %d and %d bytes)", t.server, t.floor, t.serverBytes, t.perBare)
}

// measure is a figure and what it is of.
type measure struct {
	name  string
	value float64
}

// turn is how much CPU one side spends before it is the other's turn: far
// more than the resolution of the clocks, and short beside what disturbs.
func (b *bench) turn() time.Duration {
	if b.Short {
		return 200 * time.Millisecond
	}
	return 400 * time.Millisecond
}

// fight lets both take turns.
func (b *bench) fight(ctx context.Context, s *process.Server, d duel, rounds int) (t tally, err error) {
	floor, err := b.startFloor(ctx, b.set.File(d.kind), d.load, d.outputs...)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, floor.stop()) }()
	once, bytes, err := floor.runs(1) // the first brings in the code
	if err != nil {
		return t, err
	}
	t.perBare = bytes
	client := traffic.NewClient(s.URL)
	defer client.Close()
	warming := b.Rounds(3)
	if _, t.serverBytes, err = b.requests(ctx, s, client, d, warming); err != nil {
		return t, err
	}
	n := min(max(int(milliseconds(b.turn())/max(once, 1)), 1), 20)
	var server, bare []float64
	for range rounds {
		ours, _, err := b.requests(ctx, s, client, d, n)
		if err != nil {
			return t, err
		}
		theirs, _, err := floor.runs(n)
		if err != nil {
			return t, err
		}
		server, bare, t.ratios = append(server, ours), append(bare, theirs), append(t.ratios, ours/theirs)
	}
	t.requests = warming + rounds*n
	t.server, t.floor = traffic.Median(server), traffic.Median(bare)
	return t, nil
}

// requests makes n requests one after the other and gives the server's CPU
// milliseconds and the bytes of one of them.
func (b *bench) requests(ctx context.Context, s *process.Server, client *traffic.Client, d duel, n int) (float64, int64, error) {
	var bytes int64
	before := s.CPU()
	for range n {
		target := b.asset(d.kind, d.query)
		if d.fetched {
			target = "/resize?" + d.query + "&image_url=" + b.origin.url("", b.set.Next(d.kind))
		}
		sample, _, err := good(ctx, client, target)
		if err != nil {
			return 0, 0, err
		}
		bytes = sample.Bytes
	}
	return milliseconds(s.CPU()-before) / float64(n), bytes, nil
}

func (b *bench) cpu(ctx context.Context) (err error) {
	s, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer stop(s, &err)
	least, most := measure{value: 2}, measure{}
	for _, d := range duels() {
		if !b.set.Has(d.kind) {
			continue
		}
		t, err := b.fight(ctx, s, d, b.Rounds(7))
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		b.report.AtMost(d.name, "%.2f", overFloor, t.ratio(), t.more(), spread("%.2f", t.ratios))
		if size := (measure{d.name, float64(t.serverBytes) / float64(t.perBare)}); size.value > most.value {
			most = size
		} else if size.value < least.value {
			least = size
		}
	}
	b.report.Holds("bytes over those of libvips", "at most 1.03", most.value <= 1.03, fmt.Sprintf("%.3f (%s)", most.value, most.name),
		fmt.Sprintf("least %.3f (%s)", least.value, least.name))
	b.report.Note("The server's CPU time includes HTTP, the inspection of the source and the answer, not the client. Bare libvips has the source in "+
		"memory, one thread and no cache. Both take turns of %.1f s of CPU; a ratio is the median of its rounds.", b.turn().Seconds())
	return nil
}

func (b *bench) sizes(ctx context.Context) (err error) {
	s, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer stop(s, &err)
	outputs := []string{"1200", webp80, "600", webp80, "300", webp80}
	for _, d := range []duel{
		{"1200+600+300 WebP from a 12-MP JPEG", pictures.Photo12, "", "access=sequential", outputs, true},
		{"1200+600+300 WebP from a 12-MP progressive JPEG", pictures.Progressive, "", "access=sequential", outputs, true},
		{"1200+600+300 WebP from the camera's JPEG", pictures.Camera, "", "access=sequential", outputs, true},
	} {
		if !b.set.Has(d.kind) {
			continue
		}
		d.query = "sizes=1200x0,600x0,300x0&format=webp&quality=80"
		asked := b.origin.asked.Load()
		t, err := b.fight(ctx, s, d, b.Rounds(7))
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		asked = b.origin.asked.Load() - asked
		b.report.AtMost(d.name+", CPU over one bare decode", "%.2f", overFloor, t.ratio(), t.more(), spread("%.2f", t.ratios))
		b.report.Holds(d.name+", fetches a request", "1", asked == int64(t.requests),
			fmt.Sprintf("%.2f", float64(asked)/float64(t.requests)), fmt.Sprintf("%d requests", t.requests))
	}
	return nil
}
