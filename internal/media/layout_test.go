package media_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/media"
)

// wish is a request for one box.
func wish(change ...func(*media.Request)) media.Request {
	req := media.NewRequest()
	for _, c := range change {
		c(&req)
	}
	return req
}

func fitted(fit media.Fit) func(*media.Request) { return func(r *media.Request) { r.Fit = fit } }
func enlarged(r *media.Request)                 { r.Enlarge = true }
func dense(dpr float64) func(*media.Request)    { return func(r *media.Request) { r.DPR = dpr } }

func placed(kind media.GravityKind) func(*media.Request) {
	return func(r *media.Request) { r.Gravity.Kind = kind }
}

func focal(x, y float64) func(*media.Request) {
	return func(r *media.Request) { r.Gravity = media.Gravity{Kind: media.GravityFocal, X: x, Y: y} }
}

func TestLayOut(t *testing.T) {
	resized := func(w, h int) media.Layout { return media.Layout{Width: w, Height: h} }
	cropped := func(w, h, x, y, cw, ch int) media.Layout {
		return media.Layout{Width: w, Height: h, Crop: media.Rect{X: x, Y: y, Width: cw, Height: ch}}
	}
	padded := func(w, h, x, y, cw, ch int) media.Layout {
		return media.Layout{Width: w, Height: h, Canvas: media.Rect{X: x, Y: y, Width: cw, Height: ch}}
	}
	tests := []struct {
		name          string
		box           media.Size
		width, height int
		req           media.Request
		want          media.Layout
	}{
		{"no box keeps the size", media.Size{}, 640, 480, wish(), resized(640, 480)},
		{"no box keeps the size at any pixel ratio", media.Size{}, 640, 480, wish(dense(2), enlarged), resized(640, 480)},
		{"a width alone keeps the ratio", media.Size{Width: 300}, 1800, 1200, wish(), resized(300, 200)},
		{"a height alone keeps the ratio", media.Size{Height: 300}, 1800, 1200, wish(), resized(450, 300)},
		{"a side alone means inside for cover", media.Size{Width: 300}, 1800, 1200, wish(fitted(media.Cover)), resized(300, 200)},
		{"a side alone means inside for fill", media.Size{Width: 300}, 1800, 1200, wish(fitted(media.Fill)), resized(300, 200)},
		{"a side alone never enlarges by itself", media.Size{Width: 300}, 100, 50, wish(), resized(100, 50)},
		{"a side alone enlarges when told", media.Size{Width: 300}, 100, 50, wish(enlarged), resized(300, 150)},
		{"the pixel ratio multiplies the box", media.Size{Width: 300}, 1800, 1200, wish(dense(2)), resized(600, 400)},
		{"the pixel ratio rounds to the nearest pixel", media.Size{Width: 33, Height: 33}, 900, 900, wish(dense(1.5)), resized(50, 50)},
		{"a tiny pixel ratio leaves one pixel", media.Size{Width: 3}, 900, 900, wish(dense(0.1)), resized(1, 1)},
		{"a very wide picture keeps one line", media.Size{Width: 300}, 20000, 1, wish(), resized(300, 1)},
		{"a very tall picture keeps one column", media.Size{Width: 300, Height: 300}, 1, 20000, wish(), resized(1, 300)},

		{"inside meets the tighter side", media.Size{Width: 300, Height: 300}, 1800, 1200, wish(), resized(300, 200)},
		{"inside leaves a small picture alone", media.Size{Width: 300, Height: 300}, 100, 50, wish(), resized(100, 50)},
		{"inside enlarges when told", media.Size{Width: 300, Height: 300}, 100, 50, wish(enlarged), resized(300, 150)},
		{"inside never passes the box by rounding", media.Size{Width: 100, Height: 67}, 3000, 2000, wish(), resized(100, 67)},

		{"outside covers the box uncropped", media.Size{Width: 300, Height: 300}, 1800, 1200, wish(fitted(media.Outside)), resized(450, 300)},
		{"outside leaves a small picture alone", media.Size{Width: 300, Height: 300}, 1800, 200, wish(fitted(media.Outside)), resized(1800, 200)},

		{"fill stretches", media.Size{Width: 300, Height: 300}, 1800, 1200, wish(fitted(media.Fill)), resized(300, 300)},
		{"fill shrinks its box rather than stretch a side", media.Size{Width: 300, Height: 300}, 1800, 150, wish(fitted(media.Fill)), resized(150, 150)},
		{"fill stretches a small picture when told", media.Size{Width: 300, Height: 300}, 100, 50, wish(fitted(media.Fill), enlarged), resized(300, 300)},

		{"cover crops the middle", media.Size{Width: 300, Height: 300}, 1800, 1200, wish(fitted(media.Cover)), cropped(450, 300, 75, 0, 300, 300)},
		{"cover of the same shape crops nothing", media.Size{Width: 300, Height: 200}, 1800, 1200, wish(fitted(media.Cover)), resized(300, 200)},
		{"cover keeps the west", media.Size{Width: 300, Height: 300}, 1800, 1200, wish(fitted(media.Cover), placed(media.GravityWest)), cropped(450, 300, 0, 0, 300, 300)},
		{"cover keeps the southeast", media.Size{Width: 300, Height: 300}, 1800, 1200, wish(fitted(media.Cover), placed(media.GravitySouthEast)), cropped(450, 300, 150, 0, 300, 300)},
		{"cover keeps the north of a portrait", media.Size{Width: 300, Height: 300}, 1200, 1800, wish(fitted(media.Cover), placed(media.GravityNorth)), cropped(300, 450, 0, 0, 300, 300)},
		{"cover keeps the south of a portrait", media.Size{Width: 300, Height: 300}, 1200, 1800, wish(fitted(media.Cover), placed(media.GravitySouth)), cropped(300, 450, 0, 150, 300, 300)},
		{"cover centres on a focal point", media.Size{Width: 300, Height: 300}, 1800, 1200, wish(fitted(media.Cover), focal(0.6, 0.5)), cropped(450, 300, 120, 0, 300, 300)},
		{"a focal point at the edge stops at the edge", media.Size{Width: 300, Height: 300}, 1800, 1200, wish(fitted(media.Cover), focal(1, 1)), cropped(450, 300, 150, 0, 300, 300)},
		{"a smart crop leaves its place to the engine", media.Size{Width: 300, Height: 300}, 1800, 1200, wish(fitted(media.Cover), placed(media.GravityEntropy)),
			media.Layout{Width: 450, Height: 300, Crop: media.Rect{Width: 300, Height: 300}, Smart: media.GravityEntropy}},
		{"a smart crop without overflow is none", media.Size{Width: 300, Height: 200}, 1800, 1200, wish(fitted(media.Cover), placed(media.GravityEntropy)), resized(300, 200)},
		{"bug report 6: cover of a picture small in one direction crops what is there", media.Size{Width: 300, Height: 300}, 1800, 100, wish(fitted(media.Cover)), cropped(1800, 100, 850, 0, 100, 100)},
		{"cover of a picture small both ways keeps the shape of the box", media.Size{Width: 400, Height: 100}, 50, 50, wish(fitted(media.Cover)), cropped(50, 50, 0, 18, 50, 13)},
		{"cover enlarges when told", media.Size{Width: 300, Height: 300}, 100, 50, wish(fitted(media.Cover), enlarged), cropped(600, 300, 150, 0, 300, 300)},
		{"cover never crops to nothing", media.Size{Width: 16000, Height: 1}, 10, 10, wish(fitted(media.Cover)), cropped(10, 10, 0, 4, 10, 1)},
		{"bug report 5: the box is of what the viewer sees", media.Size{Width: 300, Height: 200}, 1200, 1800, wish(fitted(media.Cover)), cropped(300, 450, 0, 125, 300, 200)},

		{"contain pads the sides", media.Size{Width: 300, Height: 300}, 1800, 1200, wish(fitted(media.Contain)), padded(300, 200, 0, 50, 300, 300)},
		{"contain leans north", media.Size{Width: 300, Height: 300}, 1800, 1200, wish(fitted(media.Contain), placed(media.GravityNorthWest)), padded(300, 200, 0, 0, 300, 300)},
		{"contain centres a focal point's picture", media.Size{Width: 300, Height: 300}, 1800, 1200, wish(fitted(media.Contain), focal(0, 0)), padded(300, 200, 0, 50, 300, 300)},
		{"contain pads a small picture to the full box", media.Size{Width: 300, Height: 300}, 100, 50, wish(fitted(media.Contain)), padded(100, 50, 100, 125, 300, 300)},
		{"contain of the same shape pads nothing", media.Size{Width: 300, Height: 200}, 1800, 1200, wish(fitted(media.Contain)), resized(300, 200)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := media.LayOut(test.box, test.width, test.height, test.req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLayOutRefuses(t *testing.T) {
	tests := []struct {
		name          string
		box           media.Size
		width, height int
		code          media.Code
	}{
		{"a picture without pixels", media.Size{Width: 10}, 0, 10, media.CodeDecodeFailed},
		{"a size beyond all numbers", media.Size{Width: 16384}, 1, 1_000_000, media.CodeOutputSide},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := media.LayOut(test.box, test.width, test.height, wish(enlarged))
			wantCode(t, err, test.code)
		})
	}
}

// checkLayout holds what is true of every layout.
func checkLayout(t *testing.T, box media.Size, width, height int, req media.Request) {
	t.Helper()
	layout, err := media.LayOut(box, width, height, req)
	if err != nil {
		return
	}
	w, h := layout.Final()
	if w < 1 || h < 1 || layout.Width < 1 || layout.Height < 1 {
		t.Fatalf("%+v of %dx%d gives nothing: %+v", box, width, height, layout)
	}
	if !req.Enlarge && (layout.Width > width || layout.Height > height) {
		t.Fatalf("%+v of %dx%d enlarges: %+v", box, width, height, layout)
	}
	crop, canvas := layout.Crop, layout.Canvas
	if crop.X < 0 || crop.Y < 0 || crop.X+crop.Width > layout.Width || crop.Y+crop.Height > layout.Height {
		t.Fatalf("%+v of %dx%d crops outside the picture: %+v", box, width, height, layout)
	}
	if canvas.Width > 0 && (canvas.X < 0 || canvas.Y < 0 || canvas.X+layout.Width > canvas.Width || canvas.Y+layout.Height > canvas.Height) {
		t.Fatalf("%+v of %dx%d lies outside its canvas: %+v", box, width, height, layout)
	}
	if req.Fit != media.Outside && req.DPR == 1 && (box.Width > 0 && w > box.Width || box.Height > 0 && h > box.Height) {
		t.Fatalf("%+v of %dx%d passes its box: %+v", box, width, height, layout)
	}
}

func FuzzLayOut(f *testing.F) {
	f.Add(300, 0, 1800, 1200, 0, false, 0.5, 0.5)
	f.Add(300, 300, 20000, 1, 1, true, 0.0, 1.0)
	f.Add(1, 16384, 50, 50, 2, false, 0.3, 0.3)
	f.Add(400, 100, 50, 50, 3, false, 0.0, 0.0)
	f.Add(7, 3, 3, 7, 4, true, 1.0, 1.0)
	fits := []media.Fit{media.Inside, media.Cover, media.Contain, media.Fill, media.Outside}
	f.Fuzz(func(t *testing.T, bw, bh, w, h, fit int, enlarge bool, x, y float64) {
		if bw < 0 || bh < 0 || bw > 65535 || bh > 65535 || w < 1 || h < 1 || w > 1<<31 || h > 1<<31 || fit < 0 || !(x >= 0 && x <= 1 && y >= 0 && y <= 1) {
			return
		}
		req := wish(fitted(fits[fit%len(fits)]), focal(x, y))
		req.Enlarge = enlarge
		checkLayout(t, media.Size{Width: bw, Height: bh}, w, h, req)
	})
}
