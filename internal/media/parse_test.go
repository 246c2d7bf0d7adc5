package media_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/media"
)

func parse(t *testing.T, query string) (media.Request, error) {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return media.Parse(values, media.DefaultLimits())
}

func TestParse(t *testing.T) {
	all := media.Keep{EXIF: true, XMP: true, IPTC: true, ICC: true, Copyright: true}
	tests := []struct {
		query string
		want  media.Request
	}{
		{"", wish()},
		{"sizes=300x0", wish(boxes(media.Size{Width: 300}))},
		{"sizes=300x0,1200x800,0x40,0x0", wish(boxes(media.Size{Width: 300}, media.Size{Width: 1200, Height: 800}, media.Size{Height: 40}, media.Size{}))},
		{"fit=cover&enlarge&gravity=northeast", wish(fitted(media.Cover), enlarged, placed(media.GravityNorthEast))},
		{"enlarge=false&flip=0&flop=1", wish(func(r *media.Request) { r.Flop = true })},
		{"flip&flop=true&grayscale=", wish(func(r *media.Request) { r.Flip, r.Flop, r.Grayscale = true, true, true })},
		{"gravity=0.25,1", wish(focal(0.25, 1))},
		{"gravity=attention", wish(placed(media.GravityAttention))},
		{"crop=1,2,30,40", wish(func(r *media.Request) { r.Crop = &media.Rect{X: 1, Y: 2, Width: 30, Height: 40} })},
		{"rotate=90", wish(func(r *media.Request) { r.Rotate = 90 })},
		{"rotate=-90", wish(func(r *media.Request) { r.Rotate = 270 })},
		{"rotate=720", wish()},
		{"trim", wish(func(r *media.Request) { r.Trim = 10 })},
		{"trim=true", wish(func(r *media.Request) { r.Trim = 10 })},
		{"trim=1", wish(func(r *media.Request) { r.Trim = 1 })},
		{"trim=33.5", wish(func(r *media.Request) { r.Trim = 33.5 })},
		{"trim=false", wish()},
		{"dpr=2.5", wish(dense(2.5))},
		{"background=f80", wish(func(r *media.Request) { r.Background = &media.Colour{R: 255, G: 136, A: 255} })},
		{"background=f808", wish(func(r *media.Request) { r.Background = &media.Colour{R: 255, G: 136, A: 136} })},
		{"background=00A0ff", wish(func(r *media.Request) { r.Background = &media.Colour{G: 160, B: 255, A: 255} })},
		{"background=%2300a0ff80", wish(func(r *media.Request) { r.Background = &media.Colour{G: 160, B: 255, A: 128} })},
		{"background=transparent", wish()},
		{"background=ffffff00", wish()},
		{"blur=0&sharpen=1.5", wish(func(r *media.Request) { r.Sharpen = 1.5 })},
		{"blur=250", wish(func(r *media.Request) { r.Blur = 250 })},
		{"watermark=logo.png", wish(func(r *media.Request) {
			r.Watermark = &media.Watermark{URL: "logo.png", Gravity: media.Gravity{Kind: media.GravitySouthEast}, Opacity: 1}
		})},
		{"watermark_y=-7&watermark_x=5&watermark_scale=0.25&watermark_opacity=.5&watermark_gravity=center&watermark=a%20b", wish(func(r *media.Request) {
			r.Watermark = &media.Watermark{URL: "a b", Gravity: media.Gravity{Kind: media.GravityCenter}, Opacity: 0.5, Scale: 0.25, X: 5, Y: -7}
		})},
		{"format=jpg&quality=60&effort=9&progressive", wish(func(r *media.Request) {
			r.Format, r.Quality, r.Effort, r.Progressive = media.JPEG, 60, 9, true
		})},
		{"format=jpeg&progressive=jpeg", wish(func(r *media.Request) { r.Format, r.ProgressiveJPEG = media.JPEG, true })},
		{"format=tif", wish(func(r *media.Request) { r.Format = media.TIFF })},
		{"encoder=json&placeholders=lqip,color", wish(func(r *media.Request) {
			r.Encoder, r.Placeholders = media.EncodeJSON, media.Placeholders{LQIP: true, Color: true}
		})},
		{"encoder=json&placeholders=blurhash,thumbhash", wish(func(r *media.Request) {
			r.Encoder, r.Placeholders = media.EncodeJSON, media.Placeholders{BlurHash: true, ThumbHash: true}
		})},
		{"format=auto&lossless=true", wish(func(r *media.Request) { r.Lossless = true })},
		{"max_bytes=20000", wish(func(r *media.Request) { r.MaxBytes = 20000 })},
		{"page=7&frames=3", wish(func(r *media.Request) { r.Page, r.Frames = 7, 3 })},
		{"strip=true", wish()},
		{"strip=false", wish(func(r *media.Request) { r.Keep = all })},
		{"strip=true&keep=exif,icc", wish(func(r *media.Request) { r.Keep = media.Keep{EXIF: true, ICC: true} })},
		{"keep=xmp,iptc,copyright", wish(func(r *media.Request) { r.Keep = media.Keep{XMP: true, IPTC: true, Copyright: true} })},
		{"encoder=json", wish(func(r *media.Request) { r.Encoder = media.EncodeJSON })},
	}
	for _, test := range tests {
		t.Run("reads "+test.query, func(t *testing.T) {
			got, err := parse(t, test.query)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	long := strings.Repeat("9", 300)
	tests := []struct{ query, param, says string }{
		{"sizes=300", "sizes", `"300" is not a size`},
		{"sizes=", "sizes", "300x0"},
		{"sizes=300x0,", "sizes", `"" is not a size`},
		{"sizes=-1x0", "sizes", "0 to 16384"},
		{"sizes=-0x0", "sizes", "0 to 16384"},
		{"sizes=%2B1x0", "sizes", "0 to 16384"},
		{"sizes=16385x0", "sizes", "16384"},
		{"sizes=1e3x0", "sizes", `"1e3x0"`},
		{"sizes=" + strings.Repeat("1x1,", 16) + "1x1", "sizes", "17 sizes; 16 are allowed"},
		{"fit=crop", "fit", "inside, cover, contain, fill, outside"},
		{"enlarge=yes", "enlarge", "true, false, 1 or 0"},
		{"gravity=up", "gravity", "northwest, attention, entropy"},
		{"gravity=0.5,1.1", "gravity", "0 to 1"},
		{"gravity=0.5,NaN", "gravity", "0 to 1"},
		{"gravity=focal", "gravity", "center"},
		{"gravity=north-east", "gravity", "fx,fy with 0 to 1 each"},
		{"crop=1,2,3", "crop", "x,y,w,h"},
		{"crop=1,2,0,4", "crop", "from 1"},
		{"crop=-1,2,3,4", "crop", "from 0"},
		{"crop=1,2,3,4,5", "crop", "x,y,w,h"},
		{"rotate=45", "rotate", "multiple of 90"},
		{"trim=0.5", "trim", "1 to 255"},
		{"trim=256", "trim", "1 to 255"},
		{"dpr=0", "dpr", "0.1 to 8"},
		{"dpr=8.1", "dpr", "0.1 to 8"},
		{"dpr=1e0", "dpr", "0.1 to 8"},
		{"dpr=0x1", "dpr", "0.1 to 8"},
		{"background=red", "background", "hex digits"},
		{"background=12345", "background", "hex digits"},
		{"background=%2B1234567", "background", "hex digits"},
		{"blur=0.2", "blur", "0.3 to 250"},
		{"sharpen=11", "sharpen", "0.3 to 10"},
		{"watermark=", "watermark", "name of a picture"},
		{"watermark_x=3", "watermark", "missing"},
		{"watermark=a&watermark_gravity=attention", "watermark_gravity", "center"},
		{"watermark=a&watermark_opacity=2", "watermark_opacity", "0 to 1"},
		{"format=heic", "format", "auto, webp, jpeg, png, avif, gif, jxl, tiff"},
		{"quality=0", "quality", `"0" is not a whole number from 1 to 100`},
		{"quality=101", "quality", "1 to 100"},
		{"quality=80.5", "quality", "1 to 100"},
		{"quality=" + long, "quality", `"` + long[:100] + `"…`},
		{"max_bytes=0", "max_bytes", "1 to 268435456"},
		{"max_bytes=9&lossless", "max_bytes", "lossless"},
		{"max_bytes=9&format=png", "max_bytes", "png"},
		{"lossless&format=jpeg", "lossless", "format=jpeg"},
		{"placeholders=color", "placeholders", "encoder=json"},
		{"encoder=json&placeholders=colour", "placeholders", "blurhash, thumbhash, lqip, color"},
		{"encoder=json&placeholders=", "placeholders", "blurhash, thumbhash, lqip, color"},
		{"linear=scrgb", "linear", "true, false, 1 or 0"},
		{"shrink=2", "shrink", "fine, fast, none"},
		{"shink=fast", "shink", "the nearest one is shrink"},
		{"ssim=0.89", "ssim", "0.9 to 0.999"},
		{"ssim=1", "ssim", "0.9 to 0.999"},
		{"ssim=95", "ssim", "0.9 to 0.999"},
		{"ssmi=0.95", "ssmi", "the nearest one is ssim"},
		{"dssim=0.05", "dssim", "the nearest one is ssim"},
		{"ssim=0.95&quality=80", "ssim", "quality=80"},
		{"ssim=0.95&max_bytes=9", "ssim", "max_bytes=9"},
		{"ssim=0.95&lossless", "ssim", "lossless"},
		{"ssim=0.95&format=png", "ssim", "format=png"},
		{"effort=10", "effort", "0 to 9"},
		{"page=0", "page", "1 to 1000"},
		{"page=1001", "page", "1 to 1000"},
		{"frames=501", "frames", "0 to 500"},
		{"keep=gps", "keep", "exif, icc, xmp, iptc, copyright"},
		{"keep=", "keep", "exif"},
		{"encoder=xml", "encoder", "stream, json, progress"},
		{"sizes=1x1&sizes=2x2", "sizes", "more than once"},
		{"qualty=3", "qualty", "quality"},
		{"width=3", "width", "sizes"},
		{"Sizes=3x3", "Sizes", "sizes"},
		{"greyscale", "greyscale", "grayscale"},
		{"zzzzzz=1", "zzzzzz", "not a known parameter."},
		{"frobs=1", "frobs", "not a known parameter."},
		{"image_url=a", "image_url", "not a known parameter"},
	}
	for _, test := range tests {
		t.Run("refuses "+test.query[:min(len(test.query), 60)], func(t *testing.T) {
			_, err := parse(t, test.query)
			wantCode(t, err, media.CodeInvalidParameter)
			var fault *media.Error
			errors.As(err, &fault)
			if fault.Param != test.param {
				t.Errorf("names %q, want %q", fault.Param, test.param)
			}
			if !strings.Contains(fault.Detail, test.says) || !strings.Contains(fault.Detail, test.param) {
				t.Errorf("%q does not mention %q and %q", fault.Detail, test.param, test.says)
			}
		})
	}
}

func TestFaultsAreAllThereAre(t *testing.T) {
	values, err := url.ParseQuery("sizs=1x1&fit=cvoer&quality=600&lossless&format=jpeg")
	if err != nil {
		t.Fatal(err)
	}
	var params []string
	for _, err := range media.Faults(values, media.DefaultLimits()) {
		var fault *media.Error
		if !errors.As(err, &fault) {
			t.Fatal(err)
		}
		params = append(params, fault.Param)
	}
	if diff := cmp.Diff([]string{"sizs", "fit", "quality"}, params); diff != "" {
		t.Errorf("parameters at fault (-want +got):\n%s", diff)
	}
	if got := media.Faults(url.Values{"fit": {"cover"}}, media.DefaultLimits()); len(got) != 0 {
		t.Errorf("a sound query has faults: %v", got)
	}
}

func TestParseHoldsTheConfiguredLimits(t *testing.T) {
	limits := media.DefaultLimits()
	limits.OutputSide, limits.Page, limits.Frames, limits.OutputBytes, limits.Outputs = 100, 5, 7, 1000, 1
	for _, query := range []string{"sizes=101x0", "page=6", "frames=8", "max_bytes=1001", "sizes=1x1,2x2"} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = media.Parse(values, limits)
		wantCode(t, err, media.CodeInvalidParameter)
	}
}

func TestParametersAreComplete(t *testing.T) {
	for _, p := range media.Parameters() {
		if p.Name == "" || p.Syntax == "" || p.Default == "" || p.Meaning == "" {
			t.Errorf("%+v leaves something out", p)
		}
		if strings.Contains(p.Syntax+p.Default+p.Meaning, "|") {
			t.Errorf("%s would break a table", p.Name)
		}
		if _, err := parse(t, p.Name+"=%00"); err == nil {
			t.Errorf("%s accepts anything", p.Name)
		}
	}
}

func TestCanonical(t *testing.T) {
	tests := []struct{ name, query, want string }{
		{"defaults are left out", "fit=inside&dpr=1&page=1&enlarge=false&gravity=center&strip=true&format=auto&blur=0", ""},
		{"the order of a query means nothing", "quality=60&sizes=300x0", "sizes=300x0&quality=60"},
		{"how results travel changes no byte", "sizes=300x0&encoder=json", "sizes=300x0"},
		{"the pixel ratio is multiplied into the sizes", "sizes=300x0&dpr=2", "sizes=600x0"},
		{"the pixel ratio means nothing without a size", "dpr=2", ""},
		{"an alias is its format", "format=jpg", "format=jpeg"},
		{"colours have one spelling", "background=F80", "background=ff8800ff"},
		{"angles have one spelling", "rotate=-90", "rotate=270"},
		{"numbers have one spelling", "blur=1.50", "blur=1.5"},
		{"strip=false is all of keep", "strip=false", "keep=exif%2Cicc%2Cxmp%2Ciptc%2Ccopyright"},
		{"quality means nothing without loss", "lossless&quality=3", "lossless=true"},
		{"likeness has one spelling", "ssim=0.950", "ssim=0.95"},
		{"the usual shrink is left out", "shrink=fine&linear=false&ssim=0", ""},
		{"names cannot break out", "watermark=a%26quality%3D1&watermark_x=3", "watermark=a%26quality%3D1&watermark_x=3"},
		{"a focal point is spelled out", "gravity=0.50,.25", "gravity=0.5%2C0.25"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			req, err := parse(t, test.query)
			if err != nil {
				t.Fatal(err)
			}
			if got := req.Canonical(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestProgressiveJPEGIsNoPartOfOtherFormats(t *testing.T) {
	for query, want := range map[string]string{
		"format=webp&progressive=jpeg": "format=webp",
		"format=png&progressive=jpeg":  "format=png",
		"format=jpeg&progressive=jpeg": "format=jpeg&progressive=jpeg",
		"progressive=jpeg":             "progressive=jpeg",
		"progressive=false":            "",
	} {
		req, err := parse(t, query)
		if err != nil {
			t.Fatal(err)
		}
		if got := req.Canonical(); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
}

func TestCanonicalTellsEveryParameterApart(t *testing.T) {
	queries := []string{
		"", "sizes=300x0", "sizes=300x0,200x0", "fit=cover", "enlarge", "gravity=north", "gravity=0.1,0.2", "crop=0,0,1,1", "rotate=90",
		"flip", "flop", "trim", "trim=11", "background=fff", "blur=1", "sharpen=1", "grayscale", "watermark=a", "watermark=a&watermark_gravity=center",
		"watermark=a&watermark_opacity=0.5", "watermark=a&watermark_scale=0.5", "watermark=a&watermark_x=1", "watermark=a&watermark_y=1",
		"format=png", "quality=50", "max_bytes=5000", "ssim=0.95", "ssim=0.955", "linear", "shrink=fast", "shrink=none", "lossless", "effort=0", "progressive", "progressive=jpeg", "page=2", "frames=1", "keep=exif", "keep=icc",
		"keep=xmp", "keep=iptc", "keep=copyright",
	}
	seen := map[string]string{}
	for _, query := range queries {
		req, err := parse(t, query)
		if err != nil {
			t.Fatal(err)
		}
		key := req.Canonical()
		if other, taken := seen[key]; taken {
			t.Errorf("%q and %q are both %q", query, other, key)
		}
		seen[key] = query
	}
}
