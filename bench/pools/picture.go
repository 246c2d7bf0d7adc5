package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
	"github.com/spillway-media/spillway/internal/transform"
	"github.com/spillway-media/spillway/internal/vips"
)

// picture is the seed's own job, made from nothing: a photograph of twelve
// megapixels that becomes a WebP of at most 120 x 240.
type picture struct {
	engine *vips.Engine
	source []byte
}

func newPicture() (*picture, error) {
	engine, err := vips.New(vips.Config{ConcurrencyPerJob: 1})
	if err != nil {
		return nil, fmt.Errorf("start libvips: %w", err)
	}
	p := &picture{engine, testpictures.JPEG(testpictures.Photo(4000, 3000), 90)}
	return p, p.convert()
}

func (p *picture) held() int64 { return p.engine.Stats().MemoryBytes }

func (p *picture) convert() error {
	ctx, limits := context.Background(), media.DefaultLimits()
	info, err := p.engine.Probe(ctx, p.source, limits)
	if err != nil {
		return fmt.Errorf("probe picture: %w", err)
	}
	req := media.NewRequest()
	req.Sizes, req.Quality = []media.Size{{Width: 120, Height: 240}}, 60
	plan, err := media.NewPlan(info, req, media.WebP, p.engine.Abilities(), limits)
	if err != nil {
		return fmt.Errorf("plan picture: %w", err)
	}
	discard := func(int, transform.Made) (io.Writer, error) { return io.Discard, nil }
	if err := p.engine.Run(ctx, p.source, nil, plan, discard); err != nil {
		return fmt.Errorf("convert picture: %w", err)
	}
	return nil
}
