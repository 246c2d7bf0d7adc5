package vips_test

import (
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
	"github.com/spillway-media/spillway/internal/vips"
)

func TestPDFsAreReadWhereAllowed(t *testing.T) {
	engine, err := vips.New(vips.Config{AllowPDF: true})
	if err != nil {
		t.Fatal(err)
	}
	if !engine.Abilities().Read[media.PDF] {
		t.Fatal("it is not among the abilities")
	}
	src := testpictures.PDF(72, 144, 3)
	info, err := engine.Probe(t.Context(), src, media.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if info.Width != 96 || info.Height != 192 || info.Frames != 3 || info.Animated {
		t.Errorf("an inch by two is %+v", info)
	}
	for page := 1; page <= 3; page++ {
		plan, err := media.NewPlan(info, ask(48, 0, func(r *media.Request) { r.Page = page }), media.PNG, engine.Abilities(), media.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		outputs, err := collect(t.Context(), engine, src, nil, plan)
		if err != nil || outputs[0].Width != 48 || outputs[0].Height != 96 {
			t.Errorf("page %d: %+v, %v", page, outputs[0].Made, err)
		}
	}
	t.Run("by that engine only", func(t *testing.T) {
		wantCode(t, attempt(t, src), media.CodeUnsupported)
	})
}
