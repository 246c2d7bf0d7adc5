package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spillway-media/spillway/bench/h2/link"
	"github.com/spillway-media/spillway/bench/h2/visitor"
	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// firstLimit is when the first byte of a large progressive JPEG is there, as a
// share of the time until the last one is.
const firstLimit = 0.4

// first asks the whole program for a JPEG of 4000 x 3000 pixels, which it reads,
// decodes, encodes and sends over the link.
func (b *bench) first(ctx context.Context) (err error) {
	root := filepath.Join(b.folder, "root")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("make folder for the original: %w", err)
	}
	original := testpictures.JPEG(testpictures.Photo(4000, 3000), 90)
	if err := os.WriteFile(filepath.Join(root, "large.jpg"), original, 0o644); err != nil {
		return fmt.Errorf("write original: %w", err)
	}
	var server *process.Server
	b.link.Do(func() {
		server, err = process.Start(ctx, b.program, b.folder, io.Discard, "--source-root", root, "--cache-memory", "0")
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	var shares, firsts, lasts []float64
	for range b.Rounds(5) {
		a, err := b.large(ctx, server)
		if err != nil {
			return err
		}
		first, last := a.First.Sub(a.Asked).Seconds(), a.Last.Sub(a.Asked).Seconds()
		shares, firsts, lasts = append(shares, first/last), append(firsts, first), append(lasts, last)
	}
	t := b.report.Table("4000 x 3000, quality 80", "median", "rounds")
	t.Add("first byte after", seconds(traffic.Median(firsts)), spread("%.2f s", firsts))
	t.Add("last byte after", seconds(traffic.Median(lasts)), spread("%.2f s", lasts))
	b.report.AtMost("first byte of a large progressive JPEG, of the time until the last", "%.2f", firstLimit, traffic.Median(shares), "", spread("%.2f", shares))
	b.report.Note("`spillway serve` with nothing cached, over the same link with its delay. The encoder gives the header at once, and all scans when it has all pixels.")
	return nil
}

// large loads the picture over a connection of its own.
func (b *bench) large(ctx context.Context, server *process.Server) (a *visitor.Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	address := server.URL[len("http://"):]
	conn, err := b.link.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	v, err := visitor.Open(link.Far(conn, link.Delay), "http", address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	a, err = v.Ask(visitor.Request{Path: "/assets/large.jpg?format=jpeg&quality=80&progressive=true", Urgency: 2, Incremental: true, AnyBody: true})
	if err != nil {
		return nil, err
	}
	return a, a.Wait(ctx)
}
