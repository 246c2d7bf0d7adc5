package media_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/media"
)

// wantCode fails unless err is a *media.Error of that code.
func wantCode(t *testing.T, err error, code media.Code) {
	t.Helper()
	var fault *media.Error
	if !errors.As(err, &fault) {
		t.Fatalf("got %v, want an error of code %s", err, code)
	}
	if fault.Code != code {
		t.Fatalf("got %v, want code %s", err, code)
	}
	if !strings.HasSuffix(fault.Detail, ".") {
		t.Fatalf("detail is no sentence: %q", fault.Detail)
	}
}

// everything is an engine that reads and writes all formats.
func everything() media.Abilities {
	can := media.Abilities{Read: map[media.Format]bool{}, Write: map[media.Format]bool{}}
	for _, f := range []media.Format{media.HEIC, media.SVG, media.BMP, media.JP2, media.PDF} {
		can.Read[f] = true
	}
	for _, f := range media.OutputFormats() {
		can.Read[f], can.Write[f] = true, true
	}
	return can
}

// photo is an upright 4000x3000 JPEG.
func photo(change ...func(*media.Info)) media.Info {
	info := media.Info{
		Format: media.JPEG, Width: 4000, Height: 3000, Orientation: 1, Frames: 1,
		Bands: 3, BitDepth: 8, Colourspace: "srgb", Subsampled: true,
	}
	for _, c := range change {
		c(&info)
	}
	return info
}

func boxes(sizes ...media.Size) func(*media.Request) {
	return func(r *media.Request) { r.Sizes = sizes }
}

func shrunk(how media.Shrink) func(*media.Request) {
	return func(r *media.Request) { r.Shrink = how }
}

func TestNewPlanChoosesTheLoad(t *testing.T) {
	as := func(f media.Format) func(*media.Info) { return func(i *media.Info) { i.Format = f } }
	turned := func(o int) func(*media.Info) { return func(i *media.Info) { i.Orientation = o } }
	cut := func(x, y, w, h int) func(*media.Request) {
		return func(r *media.Request) { r.Crop = &media.Rect{X: x, Y: y, Width: w, Height: h} }
	}
	small := boxes(media.Size{Width: 200})
	tests := []struct {
		name   string
		info   media.Info
		req    media.Request
		format media.Format
		want   media.Load
	}{
		{"a photo for a thumbnail is shrunk by eight", photo(), wish(small), media.WebP, media.Load{Frames: 1, Shrink: 8, Scale: 1, Sequential: true}},
		{"the margin of two is kept", photo(), wish(boxes(media.Size{Width: 300})), media.WebP, media.Load{Frames: 1, Shrink: 4, Scale: 1, Sequential: true}},
		{"half size leaves no margin", photo(), wish(boxes(media.Size{Width: 2000})), media.WebP, media.Load{Frames: 1, Shrink: 1, Scale: 1, Sequential: true}},
		{"the largest of several sizes decides", photo(), wish(boxes(media.Size{Width: 100}, media.Size{Width: 900})), media.WebP, media.Load{Frames: 1, Shrink: 2, Scale: 1}},
		{"a crop takes its share of the shrinking", photo(), wish(small, cut(0, 0, 1000, 1000)), media.WebP, media.Load{Frames: 1, Shrink: 2, Scale: 1, Sequential: true}},
		{"a turned photo is measured upright", photo(turned(6)), wish(boxes(media.Size{Height: 500})), media.WebP, media.Load{Frames: 1, Shrink: 4, Scale: 1}},
		{"mirroring left to right keeps reading in order", photo(turned(2)), wish(small), media.WebP, media.Load{Frames: 1, Shrink: 8, Scale: 1, Sequential: true}},
		{"trimming needs every pixel", photo(), wish(small, func(r *media.Request) { r.Trim = 10 }), media.WebP, media.Load{Frames: 1, Shrink: 1, Scale: 1}},
		{"flipping reads from the end", photo(), wish(small, func(r *media.Request) { r.Flip = true }), media.WebP, media.Load{Frames: 1, Shrink: 8, Scale: 1}},
		{"a smart crop looks around", photo(), wish(boxes(media.Size{Width: 100, Height: 100}), fitted(media.Cover), placed(media.GravityAttention)), media.WebP, media.Load{Frames: 1, Shrink: 8, Scale: 1}},
		{"cover is measured by what is resized", photo(), wish(boxes(media.Size{Width: 100, Height: 600}), fitted(media.Cover)), media.WebP, media.Load{Frames: 1, Shrink: 2, Scale: 1, Sequential: true}},
		{"a stretched side counts for itself", photo(), wish(boxes(media.Size{Width: 100, Height: 1500}), fitted(media.Fill)), media.WebP, media.Load{Frames: 1, Shrink: 1, Scale: 1, Sequential: true}},
		{"a WebP is scaled freely", photo(as(media.WebP)), wish(small), media.WebP, media.Load{Frames: 1, Shrink: 1, Scale: 0.1, Sequential: true}},
		{"a WebP is not scaled for little gain", photo(as(media.WebP)), wish(boxes(media.Size{Width: 1600})), media.WebP, media.Load{Frames: 1, Shrink: 1, Scale: 1, Sequential: true}},
		{"a fast shrink goes down to the size", photo(), wish(boxes(media.Size{Width: 500}), shrunk(media.ShrinkFast)), media.WebP, media.Load{Frames: 1, Shrink: 8, Scale: 1, Sequential: true}},
		{"but never below it", photo(), wish(boxes(media.Size{Width: 501}), shrunk(media.ShrinkFast)), media.WebP, media.Load{Frames: 1, Shrink: 4, Scale: 1, Sequential: true}},
		{"a WebP is scaled to its size by a fast shrink", photo(as(media.WebP)), wish(boxes(media.Size{Width: 1000}), shrunk(media.ShrinkFast)), media.WebP, media.Load{Frames: 1, Shrink: 1, Scale: 0.25, Sequential: true}},
		{"no shrink decodes in full", photo(), wish(small, shrunk(media.ShrinkNone)), media.WebP, media.Load{Frames: 1, Shrink: 1, Scale: 1, Sequential: true}},
		{"nor is a WebP scaled then", photo(as(media.WebP)), wish(small, shrunk(media.ShrinkNone)), media.WebP, media.Load{Frames: 1, Shrink: 1, Scale: 1, Sequential: true}},
		{"linear light keeps the margin", photo(), wish(boxes(media.Size{Width: 300}), func(r *media.Request) { r.Linear = true }), media.WebP, media.Load{Frames: 1, Shrink: 4, Scale: 1, Sequential: true}},
		{"a drawing is rendered at the size it is needed in", photo(as(media.SVG)), wish(boxes(media.Size{Width: 1000})), media.PNG, media.Load{Frames: 1, Shrink: 1, Scale: 0.25, Sequential: true}},
		{"a drawing may grow without being told", photo(as(media.SVG), func(i *media.Info) { i.Width, i.Height = 40, 30 }), wish(boxes(media.Size{Width: 1000})), media.PNG, media.Load{Frames: 1, Shrink: 1, Scale: 25, Sequential: true}},
		{"an interlaced PNG is held by its decoder", photo(as(media.PNG), func(i *media.Info) { i.Progressive = true }), wish(small), media.PNG, media.Load{Frames: 1, Shrink: 1, Scale: 1}},
		{"a progressive JPEG is read in order", photo(func(i *media.Info) { i.Progressive = true }), wish(small), media.PNG, media.Load{Frames: 1, Shrink: 8, Scale: 1, Sequential: true}},
		{"a page is counted from zero", photo(as(media.PDF), func(i *media.Info) { i.Frames = 5 }), wish(func(r *media.Request) { r.Page = 3 }), media.PNG, media.Load{Page: 2, Frames: 1, Shrink: 1, Scale: 1, Sequential: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan, err := media.NewPlan(test.info, test.req, test.format, everything(), media.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, plan.Load); diff != "" {
				t.Error(diff)
			}
			if plan.Memory <= 0 {
				t.Errorf("memory is estimated as %d", plan.Memory)
			}
		})
	}
}

func TestNewPlanOfAnimations(t *testing.T) {
	animation := media.Info{Format: media.GIF, Width: 100, Height: 80, Orientation: 1, Frames: 40, Animated: true, Bands: 4, BitDepth: 8, Alpha: true}
	tests := []struct {
		name     string
		change   func(*media.Request)
		format   media.Format
		frames   int
		animated bool
	}{
		{"all frames go into a WebP", func(*media.Request) {}, media.WebP, 40, true},
		{"all frames go into a GIF", func(*media.Request) {}, media.GIF, 40, true},
		{"a JPEG gets the first frame", func(*media.Request) {}, media.JPEG, 1, false},
		{"an AVIF is not written animated", func(*media.Request) {}, media.AVIF, 1, false},
		{"frames bounds their number", func(r *media.Request) { r.Frames = 5 }, media.GIF, 5, true},
		{"one frame is a still", func(r *media.Request) { r.Frames = 1 }, media.GIF, 1, false},
		{"page begins later", func(r *media.Request) { r.Page = 31 }, media.GIF, 10, true},
		{"the last page is a still", func(r *media.Request) { r.Page = 40 }, media.GIF, 1, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan, err := media.NewPlan(animation, wish(test.change), test.format, everything(), media.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if plan.Load.Frames != test.frames || plan.Outputs[0].Encode.Animated != test.animated {
				t.Errorf("loads %d frames, animated %t", plan.Load.Frames, plan.Outputs[0].Encode.Animated)
			}
		})
	}
}

func TestNewPlanRefuses(t *testing.T) {
	none := func(*media.Request) {}
	tests := []struct {
		name   string
		info   func(*media.Info)
		req    func(*media.Request)
		format media.Format
		can    func(media.Abilities)
		code   media.Code
		says   string
	}{
		{"more pixels than allowed", func(i *media.Info) { i.Width = 40000 }, none, media.WebP, nil, media.CodePixels, "40000x3000"},
		{"more pixels over all frames than allowed", func(i *media.Info) { i.Format, i.Animated, i.Frames = media.GIF, true, 9 }, none, media.GIF, nil, media.CodePixels, "9 frames"},
		{"more frames than allowed", func(i *media.Info) { i.Format, i.Animated, i.Frames, i.Width, i.Height = media.GIF, true, 501, 2, 2 }, none, media.GIF, nil, media.CodeFrames, "501"},
		{"a page beyond the last", func(i *media.Info) { i.Format, i.Frames = media.PDF, 3 }, func(r *media.Request) { r.Page = 4 }, media.WebP, nil, media.CodePage, "has 3"},
		{"a page larger than PDF has them", func(i *media.Info) { i.Format, i.Width, i.Height = media.PDF, 19201, 100 }, func(*media.Request) {}, media.WebP, nil, media.CodePage, "19200"},
		{"a page beyond the limit", func(i *media.Info) { i.Format, i.Frames = media.PDF, 20000 }, func(r *media.Request) { r.Page = 1001 }, media.WebP, nil, media.CodePage, "1000"},
		{"a crop outside the picture", func(*media.Info) {}, func(r *media.Request) { r.Crop = &media.Rect{X: 4000, Width: 5, Height: 5} }, media.WebP, nil, media.CodeInvalidParameter, "4000x3000"},
		{"a result with too long a side", func(*media.Info) {}, func(r *media.Request) { r.Sizes, r.Enlarge = []media.Size{{Width: 16384}}, true }, media.WebP, nil, media.CodeOutputSide, "16383"},
		{"a result with too many pixels", func(i *media.Info) { i.Width, i.Height = 100, 100 }, func(r *media.Request) { r.Sizes, r.Enlarge = []media.Size{{Width: 12000}}, true }, media.PNG, nil, media.CodePixels, "12000x12000"},
		{"a detour over too many pixels", func(i *media.Info) { i.Width, i.Height = 20000, 1 }, func(r *media.Request) {
			r.Sizes, r.Fit, r.Enlarge = []media.Size{{Width: 300, Height: 300}}, media.Cover, true
		}, media.PNG, nil, media.CodePixels, "6000000x300"},
		{"a drawing with too many pixels", func(i *media.Info) { i.Format, i.Width, i.Height = media.SVG, 50000, 50000 }, none, media.PNG, nil, media.CodeOutputSide, "50000x50000"},
		{"a small crop of a drawing that is rendered large", func(i *media.Info) { i.Format, i.Width, i.Height = media.SVG, 2000, 2000 }, func(r *media.Request) {
			r.Crop, r.Sizes = &media.Rect{Width: 10, Height: 10}, []media.Size{{Width: 1000}}
		}, media.PNG, nil, media.CodePixels, "200000x200000"},
		{"costly filters on a large rendering", func(i *media.Info) { i.Format, i.FilterWork, i.Width, i.Height = media.SVG, 1000, 100, 100 }, func(r *media.Request) { r.Sizes = []media.Size{{Width: 4000}} }, media.PNG, nil, media.CodeSVG, "filters"},
		{"a source the engine does not read", func(i *media.Info) { i.Format = media.JXL }, none, media.WebP, func(a media.Abilities) { a.Read[media.JXL] = false }, media.CodeUnsupported, "jxl"},
		{"a format the engine does not write", func(*media.Info) {}, none, media.JXL, func(a media.Abilities) { a.Write[media.JXL] = false }, media.CodeUnwritable, "jxl"},
		{"a header without pixels", func(i *media.Info) { i.Width = 0 }, none, media.WebP, nil, media.CodeDecodeFailed, "0x3000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			can := everything()
			if test.can != nil {
				test.can(can)
			}
			_, err := media.NewPlan(photo(test.info), wish(test.req), test.format, can, media.DefaultLimits())
			wantCode(t, err, test.code)
			if !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v does not mention %q", err, test.says)
			}
		})
	}
}

func TestNewPlanCutsACropToThePicture(t *testing.T) {
	req := wish(func(r *media.Request) { r.Crop = &media.Rect{X: 3000, Y: 2000, Width: 5000, Height: 5000} })
	plan, err := media.NewPlan(photo(), req, media.WebP, everything(), media.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	want := media.Layout{Width: 1000, Height: 1000}
	if diff := cmp.Diff(want, plan.Outputs[0].Layout); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(media.Rect{X: 375, Y: 250, Width: 125, Height: 125}, plan.Crop.In(500, 375)); diff != "" {
		t.Errorf("in a shrunk picture: %s", diff)
	}
}

func TestNewPlanMeasuresTheViewersPicture(t *testing.T) {
	for orientation := 1; orientation <= 8; orientation++ {
		info := photo(func(i *media.Info) { i.Orientation = orientation })
		if orientation >= 5 {
			info.Width, info.Height = info.Height, info.Width
		}
		req := wish(boxes(media.Size{Width: 300, Height: 200}), fitted(media.Cover))
		plan, err := media.NewPlan(info, req, media.WebP, everything(), media.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		want := media.Layout{Width: 300, Height: 225, Crop: media.Rect{Y: 12, Width: 300, Height: 200}}
		if diff := cmp.Diff(want, plan.Outputs[0].Layout); diff != "" {
			t.Errorf("orientation %d: %s", orientation, diff)
		}
	}
}

func TestNewPlanTurnsTheBoxWithTheRotation(t *testing.T) {
	req := wish(boxes(media.Size{Width: 300}), func(r *media.Request) { r.Rotate = 270 })
	plan, err := media.NewPlan(photo(), req, media.WebP, everything(), media.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if w, h := plan.Outputs[0].Layout.Final(); w != 300 || h != 400 {
		t.Errorf("got %dx%d", w, h)
	}
}

func TestPlanLayOutHoldsTrimmedPicturesAgainstTheLimits(t *testing.T) {
	req := wish(boxes(media.Size{Width: 1000}), enlarged, func(r *media.Request) { r.Trim = 10 })
	plan, err := media.NewPlan(photo(), req, media.WebP, everything(), media.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	layout, err := plan.LayOut(0, 2000, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if layout.Width != 1000 || layout.Height != 500 {
		t.Errorf("got %+v", layout)
	}
	_, err = plan.LayOut(0, 1, 3000)
	wantCode(t, err, media.CodeOutputSide)
}

func TestAreaIsNeverEmptyAndNeverOutside(t *testing.T) {
	for _, area := range []media.Area{{0, 0, 1, 1}, {0.999, 0.999, 0.001, 0.001}, {0.5, 0, 1e-9, 1}, {0.3, 0.3, 0.7, 0.7}} {
		for size := 1; size < 200; size++ {
			r := area.In(size, 2*size)
			if r.Width < 1 || r.Height < 1 || r.X < 0 || r.Y < 0 || r.X+r.Width > size || r.Y+r.Height > 2*size {
				t.Fatalf("%v in %dx%d is %v", area, size, 2*size, r)
			}
		}
	}
}

func TestVectorsAreLaidOutByTheirExactSize(t *testing.T) {
	icon := photo(func(i *media.Info) {
		i.Format, i.Width, i.Height, i.NaturalWidth, i.NaturalHeight = media.SVG, 25, 10, 24.5, 10.25
	})
	tests := []struct {
		name          string
		req           media.Request
		width, height int
	}{
		{"whole", wish(boxes(media.Size{Width: 3000})), 3000, 1255},
		{"turned", wish(boxes(media.Size{Width: 1025}), func(r *media.Request) { r.Rotate = 90 }), 1025, 2450},
		{"a part", wish(boxes(media.Size{Height: 1025}), func(r *media.Request) { r.Crop = &media.Rect{X: 20, Width: 10, Height: 20} }), 450, 1025},
		{"in its own size", wish(), 25, 10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan, err := media.NewPlan(icon, test.req, media.PNG, everything(), media.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if got := plan.Outputs[0].Layout; got.Width != test.width || got.Height != test.height {
				t.Errorf("laid out as %dx%d, want %dx%d", got.Width, got.Height, test.width, test.height)
			}
		})
	}
}
