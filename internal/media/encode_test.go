package media_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/media"
)

func TestNewPlanSettlesTheEncoding(t *testing.T) {
	small := boxes(media.Size{Width: 300})
	effort := func(n int) func(*media.Request) { return func(r *media.Request) { r.Effort = n } }
	tests := []struct {
		name   string
		req    media.Request
		format media.Format
		want   media.Encode
	}{
		{"a small JPEG has optimised tables", wish(small), media.JPEG, media.Encode{Format: media.JPEG, Quality: 80, Effort: 1}},
		{"a large JPEG leaves while it is made", wish(), media.JPEG, media.Encode{Format: media.JPEG, Quality: 80}},
		{"a large JPEG is optimised when told", wish(effort(9)), media.JPEG, media.Encode{Format: media.JPEG, Quality: 80, Effort: 1}},
		{"WebP has its usual effort", wish(small), media.WebP, media.Encode{Format: media.WebP, Quality: 80, Effort: 4}},
		{"WebP's highest effort is 6", wish(small, effort(9)), media.WebP, media.Encode{Format: media.WebP, Quality: 80, Effort: 6}},
		{"WebP's lowest effort is 0", wish(small, effort(0)), media.WebP, media.Encode{Format: media.WebP, Quality: 80}},
		{"AVIF is fast by default", wish(small), media.AVIF, media.Encode{Format: media.AVIF, Quality: 50, Effort: 1}},
		{"AVIF takes effort as it is", wish(small, effort(5)), media.AVIF, media.Encode{Format: media.AVIF, Quality: 50, Effort: 5}},
		{"AVIF's effort falls where the picture is so large that it would take minutes", wish(effort(9)), media.AVIF, media.Encode{Format: media.AVIF, Quality: 50, Effort: 3}},
		{"AVIF without loss costs more", wish(effort(9), func(r *media.Request) { r.Lossless = true }), media.AVIF, media.Encode{Format: media.AVIF, Quality: 50, Lossless: true, Effort: 2}},
		{"AVIF's usual effort holds for a whole photo", wish(), media.AVIF, media.Encode{Format: media.AVIF, Quality: 50, Effort: 1}},
		{"JXL's effort falls too", wish(effort(9)), media.JXL, media.Encode{Format: media.JXL, Quality: 75, Effort: 7}},
		{"JXL begins at 1", wish(small, effort(0)), media.JXL, media.Encode{Format: media.JXL, Quality: 75, Effort: 1}},
		{"PNG is lossless at its usual compression", wish(small), media.PNG, media.Encode{Format: media.PNG, Quality: 100, Lossless: true, Effort: 6}},
		{"a large PNG is compressed quickly", wish(), media.PNG, media.Encode{Format: media.PNG, Quality: 100, Lossless: true, Effort: 3}},
		{"a large PNG is compressed well when told", wish(effort(9)), media.PNG, media.Encode{Format: media.PNG, Quality: 100, Lossless: true, Effort: 9}},
		{"PNG compresses at least a little", wish(small, effort(0)), media.PNG, media.Encode{Format: media.PNG, Quality: 100, Lossless: true, Effort: 1}},
		{"GIF reaches 10", wish(small, effort(9)), media.GIF, media.Encode{Format: media.GIF, Quality: 100, Lossless: true, Effort: 10}},
		{"TIFF has no effort", wish(small, effort(9)), media.TIFF, media.Encode{Format: media.TIFF, Quality: 100, Lossless: true}},
		{"what was asked is kept", wish(small, func(r *media.Request) {
			r.Quality, r.MaxBytes, r.Progressive, r.Keep.ICC = 33, 5000, true, true
		}), media.JPEG, media.Encode{Format: media.JPEG, Quality: 33, MaxBytes: 5000, Progressive: true, Effort: 1, Keep: media.Keep{ICC: true}}},
		{"lossless is kept where it exists", wish(small, func(r *media.Request) { r.Lossless = true }), media.WebP, media.Encode{Format: media.WebP, Quality: 80, Lossless: true, Effort: 4}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan, err := media.NewPlan(photo(), test.req, test.format, everything(), media.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, plan.Outputs[0].Encode); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMemoryEstimate(t *testing.T) {
	const mb = 1_000_000
	small := boxes(media.Size{Width: 300})
	gif := func(i *media.Info) {
		i.Format, i.Animated, i.Frames, i.Width, i.Height, i.Bands = media.GIF, true, 50, 500, 400, 4
	}
	tests := []struct {
		name   string
		info   media.Info
		req    media.Request
		format media.Format
		low    int64
		high   int64
	}{
		{"a photo read in order takes little", photo(), wish(small), media.WebP, 4 * mb, 8 * mb},
		{"a progressive photo holds its coefficients", photo(func(i *media.Info) { i.Progressive = true }), wish(small), media.WebP, 36 * mb, 45 * mb},
		{"full chroma holds twice as many", photo(func(i *media.Info) { i.Progressive, i.Subsampled = true, false }), wish(small), media.WebP, 72 * mb, 80 * mb},
		{"a turned photo is held twice at its reduced size", photo(func(i *media.Info) { i.Orientation = 6 }), wish(), media.JPEG, 72 * mb, 90 * mb},
		{"an AVIF source is held whole twice", photo(func(i *media.Info) { i.Format = media.AVIF }), wish(small), media.WebP, 72 * mb, 90 * mb},
		{"frames are held together", photo(gif), wish(), media.WebP, 80 * mb, 100 * mb},
		{"an AVIF result costs its encoder", photo(), wish(boxes(media.Size{Width: 2000})), media.AVIF, 96 * mb, 130 * mb},
		{"sixteen-bit pixels count twice", photo(func(i *media.Info) { i.Format, i.BitDepth, i.Orientation = media.PNG, 16, 3 }), wish(small), media.PNG, 144 * mb, 160 * mb},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan, err := media.NewPlan(test.info, test.req, test.format, everything(), media.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if plan.Memory < test.low || plan.Memory > test.high {
				t.Errorf("estimated %d, want %d to %d", plan.Memory, test.low, test.high)
			}
		})
	}
}
