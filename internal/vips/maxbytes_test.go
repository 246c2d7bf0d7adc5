package vips_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

func TestMaxBytesTakesAHighQualityThatFits(t *testing.T) {
	src := testpictures.JPEG(testpictures.Photo(600, 400), 95)
	var used, cases float64
	for _, format := range []media.Format{media.JPEG, media.WebP, media.AVIF, media.JXL} {
		full := len(render(t, src, ask(0, 0, func(r *media.Request) { r.Quality = 90 }), format).data)
		for _, share := range []float64{0.8, 0.4, 0.2} {
			budget := int(float64(full) * share)
			t.Run(fmt.Sprintf("%s in %.0f %% of its bytes", format, share*100), func(t *testing.T) {
				out := render(t, src, ask(0, 0, func(r *media.Request) { r.Quality, r.MaxBytes = 90, budget }), format)
				if len(out.data) > budget || len(out.data)*2 < budget {
					t.Errorf("%d bytes for a budget of %d (quality %d)", len(out.data), budget, out.Quality)
				}
				used, cases = used+float64(len(out.data))/float64(budget), cases+1
				again := render(t, src, ask(0, 0, func(r *media.Request) { r.Quality = out.Quality }), format)
				if len(again.data) != len(out.data) {
					t.Errorf("quality %d gives %d bytes, not %d", out.Quality, len(again.data), len(out.data))
				}
			})
		}
	}
	if used < 0.9*cases {
		t.Errorf("%.0f %% of the budgets were used on average, want 90", 100*used/cases)
	}
	t.Run("enough room changes nothing", func(t *testing.T) {
		out := render(t, src, ask(0, 0, func(r *media.Request) { r.Quality, r.MaxBytes = 80, 1<<24 }), media.WebP)
		if out.Quality != 80 {
			t.Errorf("quality became %d", out.Quality)
		}
	})
}

func TestMaxBytesBelowEveryQualityIsAnError(t *testing.T) {
	src := testpictures.JPEG(testpictures.Photo(600, 400), 95)
	for _, format := range []media.Format{media.JPEG, media.WebP, media.PNG, media.GIF} {
		t.Run(string(format), func(t *testing.T) {
			engine := start(t)
			plan := planFor(t, engine, src, ask(0, 0, func(r *media.Request) { r.MaxBytes = 300 }), format)
			outputs, err := collect(t.Context(), engine, src, nil, plan)
			var told *media.Error
			if !errors.As(err, &told) || told.Code != media.CodeOutputBytes || told.Param != "max_bytes" {
				t.Errorf("got %v", err)
			}
			if len(outputs[0].data) > 0 {
				t.Errorf("%d bytes were written all the same", len(outputs[0].data))
			}
		})
	}
}
