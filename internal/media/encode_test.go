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
		{"AVIF without loss costs more", wish(effort(9), func(r *media.Request) { r.Lossless = true }), media.AVIF, media.Encode{Format: media.AVIF, Quality: 50, Lossless: true, Effort: 1}},
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
		{"a JPEG may be progressive where others are not", wish(small, jpegOnly), media.JPEG, media.Encode{Format: media.JPEG, Quality: 80, Effort: 1, Progressive: true}},
		{"a photo of 12 million pixels too", wish(jpegOnly), media.JPEG, media.Encode{Format: media.JPEG, Quality: 80, Effort: 1, Progressive: true}},
		{"not a thumbnail, which it would make larger", wish(jpegOnly, boxes(media.Size{Width: 100})), media.JPEG, media.Encode{Format: media.JPEG, Quality: 80, Effort: 1}},
		{"unless it is asked for", wish(jpegOnly, boxes(media.Size{Width: 100}), func(r *media.Request) { r.Progressive = true }), media.JPEG, media.Encode{Format: media.JPEG, Quality: 80, Effort: 1, Progressive: true}},
		{"not where its scans might not fit", wish(small, jpegOnly, func(r *media.Request) { r.MaxBytes = 4000 }), media.JPEG, media.Encode{Format: media.JPEG, Quality: 80, MaxBytes: 4000, Effort: 1}},
		{"but where they do", wish(small, jpegOnly, func(r *media.Request) { r.MaxBytes = 5000 }), media.JPEG, media.Encode{Format: media.JPEG, Quality: 80, MaxBytes: 5000, Effort: 1, Progressive: true}},
		{"not one whose coefficients would be much", wish(jpegOnly, enlarged, boxes(media.Size{Width: 8000})), media.JPEG, media.Encode{Format: media.JPEG, Quality: 80}},
		{"but when it is asked for", wish(jpegOnly, enlarged, boxes(media.Size{Width: 8000}), func(r *media.Request) { r.Progressive = true }), media.JPEG, media.Encode{Format: media.JPEG, Quality: 80, Effort: 1, Progressive: true}},
		{"nor another format", wish(small, jpegOnly), media.PNG, media.Encode{Format: media.PNG, Quality: 100, Lossless: true, Effort: 6}},
		{"raw rows are pixels and nothing else", wish(small, func(r *media.Request) {
			r.Quality, r.MaxBytes, r.Progressive, r.Keep.ICC = 33, 5000, true, true
		}), media.Raw, media.Encode{Format: media.Raw, Quality: 100, Lossless: true}},
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

func jpegOnly(r *media.Request) { r.ProgressiveJPEG = true }

// TestProgressiveIsPaidFor: whoever admits the plan sees what it costs.
func TestProgressiveIsPaidFor(t *testing.T) {
	plain, progressive := planned(t, photo(), wish(), media.JPEG), planned(t, photo(), wish(jpegOnly), media.JPEG)
	if plain.Memory >= progressive.Memory || plain.Cost >= progressive.Cost {
		t.Errorf("memory %d and %d, cost %s and %s", plain.Memory, progressive.Memory, plain.Cost, progressive.Cost)
	}
	webp, same := planned(t, photo(), wish(), media.WebP), planned(t, photo(), wish(jpegOnly), media.WebP)
	if webp.Memory != same.Memory || webp.Cost != same.Cost || webp.Steps() != progressive.Steps() {
		t.Error("WebP is not what it is without")
	}
}

// The measured bytes are the growth of a server's anonymous memory while the
// request ran, with libvips 8.14.1, libwebp 1.2.4 and libheif 1.15.1.
func TestMemoryEstimateCoversWhatWasMeasured(t *testing.T) {
	square := func(side int, format media.Format, change ...func(*media.Info)) media.Info {
		return photo(append([]func(*media.Info){func(i *media.Info) {
			i.Width, i.Height, i.Format, i.Subsampled = side, side, format, format == media.JPEG
		}}, change...)...)
	}
	alpha := func(i *media.Info) { i.Alpha, i.Bands = true, 4 }
	ten := func(i *media.Info) { i.Width, i.Height, i.BitDepth = 3681, 5594, 10 }
	width := func(w int) func(*media.Request) { return boxes(media.Size{Width: w}) }
	lossless := func(r *media.Request) { r.Lossless = true }
	tests := map[string]struct {
		info     media.Info
		req      media.Request
		format   media.Format
		measured int64
	}{
		"a wide PNG to a thumbnail":            {square(10000, media.PNG), wish(width(300)), media.WebP, 44_000_000},
		"a wide PNG with alpha":                {square(7000, media.PNG, alpha), wish(width(200)), media.PNG, 46_000_000},
		"a blur of lines":                      {square(10000, media.JPEG), wish(width(6000), func(r *media.Request) { r.Blur = 3 }), media.JPEG, 53_000_000},
		"a trim":                               {square(10000, media.JPEG), wish(width(2000), func(r *media.Request) { r.Trim = 10 }), media.JPEG, 339_000_000},
		"alpha of a WebP, which has no loss":   {square(7000, media.PNG, alpha), wish(width(3000)), media.WebP, 279_000_000},
		"a WebP at nearly its size":            {square(6000, media.WebP), wish(width(5000)), media.JPEG, 289_000_000},
		"an AVIF":                              {square(4472, media.AVIF), wish(width(300)), media.JPEG, 164_000_000},
		"an AVIF of ten bits":                  {square(1, media.AVIF, ten), wish(width(300)), media.JPEG, 547_000_000},
		"an AVIF written without loss":         {square(4472, media.JPEG), wish(lossless), media.AVIF, 727_000_000},
		"a WebP written without loss":          {square(10000, media.JPEG), wish(width(3000), lossless), media.WebP, 274_000_000},
		"a JPEG whose bytes are bounded":       {square(10000, media.JPEG), wish(width(4000), func(r *media.Request) { r.MaxBytes = 2_000_000 }), media.JPEG, 94_000_000},
		"an animation of large frames, turned": {square(438, media.WebP, alpha, func(i *media.Info) { i.Animated, i.Frames = true, 200 }), wish(), media.WebP, 326_000_000},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan, err := media.NewPlan(tt.info, tt.req, tt.format, everything(), media.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if plan.Memory < tt.measured*95/100 || plan.Memory > 2*tt.measured {
				t.Errorf("estimated %d, measured %d", plan.Memory, tt.measured)
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
		{"full chroma holds twice as many", photo(func(i *media.Info) { i.Progressive, i.Subsampled = true, false }), wish(small), media.WebP, 72 * mb, 85 * mb},
		{"a turned photo is held once at the size of the result", photo(func(i *media.Info) { i.Orientation = 6 }), wish(), media.JPEG, 36 * mb, 48 * mb},
		{"an AVIF source is held whole more than twice", photo(func(i *media.Info) { i.Format = media.AVIF }), wish(small), media.WebP, 95 * mb, 120 * mb},
		{"frames are held together", photo(gif), wish(), media.WebP, 40 * mb, 55 * mb},
		{"an AVIF result costs its encoder", photo(), wish(boxes(media.Size{Width: 2000})), media.AVIF, 96 * mb, 130 * mb},
		{"lines of sixteen bits count twice", photo(func(i *media.Info) { i.Format, i.BitDepth, i.Orientation = media.PNG, 16, 3 }), wish(small), media.PNG, 31 * mb, 38 * mb},
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
