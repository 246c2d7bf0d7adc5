package main

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"time"

	"github.com/spillway-media/spillway/bench/load/pictures"
	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
)

// ssimLimit is the gate of every figure of speed.
const ssimLimit = 0.9965

// variant is another way to shrink.
type variant struct {
	name, query string
	limit       float64 // 0 only shows
}

// quality compares what shrinking while loading gives with the resize of the
// fully decoded original, both without loss and 300 pixels wide.
func (b *bench) quality(ctx context.Context) (err error) {
	s, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer stop(s, &err)
	client := traffic.NewClient(s.URL)
	defer client.Close()
	kind := pictures.Photo12
	if b.set.Has(pictures.Camera) {
		kind = pictures.Camera
	}
	if err := b.layFull(ctx, client, kind); err != nil {
		return err
	}
	for _, v := range []variant{{"default", "", ssimLimit}, {"linear=true", "&linear=true", ssimLimit}} {
		if sample := client.Get(ctx, b.asset(pictures.Small, "format=png"+v.query), nil, time.Now()); !sample.OK() {
			b.report.Missing("SSIM and cost with "+v.name, "measured", fmt.Sprintf("the server answers %d", sample.Status))
			continue
		}
		if err := b.compare(ctx, s, client, kind, v); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	if err := b.surcharges(ctx, s, client, kind); err != nil {
		return err
	}
	b.report.Note("The reference is the same resize of a lossless copy of the whole original (%s). CPU is for 300 WebP.", kind)
	return nil
}

// fullKey is where the decoded original lies.
const fullKey = "full.png"

func (b *bench) layFull(ctx context.Context, client *traffic.Client, kind string) error {
	_, body, err := good(ctx, client, b.asset(kind, "format=png"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.set.Root, fullKey), body, 0o644); err != nil {
		return fmt.Errorf("write full picture: %w", err)
	}
	return nil
}

func (b *bench) compare(ctx context.Context, s *process.Server, client *traffic.Client, kind string, v variant) error {
	query := "sizes=300x0&format=png" + v.query
	_, quick, err := good(ctx, client, b.asset(kind, query))
	if err != nil {
		return err
	}
	_, full, err := good(ctx, client, "/assets/"+fullKey+"?"+query)
	if err != nil {
		return err
	}
	like, err := alike(quick, full)
	if err != nil {
		return err
	}
	b.report.AtLeast("SSIM against the full decode, "+v.name, "%.4f", v.limit, like, "", "")
	if v.query == "" {
		return nil
	}
	cost, err := b.costOf(ctx, s, client, kind, thumbnail+v.query, thumbnail)
	if err != nil {
		return err
	}
	b.report.Show("CPU with "+v.name+" over that without", fmt.Sprintf("%.2f", traffic.Median(cost)), spread("%.2f", cost))
	return nil
}

// surcharges are what a request may ask for besides its picture.
func (b *bench) surcharges(ctx context.Context, s *process.Server, client *traffic.Client, kind string) error {
	const document = thumbnail + "&encoder=json"
	for _, each := range []struct {
		name, with, without string
		limit               float64
	}{
		{"placeholders (all four) beside a 300 WebP", document + "&placeholders=blurhash,thumbhash,lqip,color", document, 1.05},
		{"quality by ssim=0.98 over one encode, 1200 WebP", "sizes=1200x0&format=webp&ssim=0.98", "sizes=1200x0&format=webp", 3},
	} {
		if sample := client.Get(ctx, b.asset(pictures.Small, each.with), nil, time.Now()); !sample.OK() {
			b.report.Missing("CPU of "+each.name, fmt.Sprintf("at most %.2f", each.limit), fmt.Sprintf("the server answers %d", sample.Status))
			continue
		}
		cost, err := b.costOf(ctx, s, client, kind, each.with, each.without)
		if err != nil {
			return fmt.Errorf("%s: %w", each.name, err)
		}
		b.report.AtMost("CPU of "+each.name, "%.2f", each.limit, traffic.Median(cost), "", spread("%.2f", cost))
	}
	return nil
}

// costOf lets two requests take turns.
func (b *bench) costOf(ctx context.Context, s *process.Server, client *traffic.Client, kind, with, without string) ([]float64, error) {
	var ratios []float64
	for range b.Rounds(5) {
		more, _, err := b.requests(ctx, s, client, duel{kind: kind, query: with}, 4)
		if err != nil {
			return nil, err
		}
		less, _, err := b.requests(ctx, s, client, duel{kind: kind, query: without}, 4)
		if err != nil {
			return nil, err
		}
		ratios = append(ratios, more/less)
	}
	return ratios, nil
}

func alike(a, b []byte) (float64, error) {
	first, err := png.Decode(bytes.NewReader(a))
	if err != nil {
		return 0, fmt.Errorf("read picture: %w", err)
	}
	second, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return 0, fmt.Errorf("read picture: %w", err)
	}
	return ssim(first, second)
}
