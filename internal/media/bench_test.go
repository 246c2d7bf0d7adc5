package media_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testcorpus"
)

// BenchmarkInspect shows that the check costs next to nothing beside the
// fetch and the decode.
func BenchmarkInspect(b *testing.B) {
	sources := map[string]string{
		"jpeg-small": string(encoded(b, media.JPEG)),
		"png-small":  string(encoded(b, media.PNG)),
		"svg-10k":    drawing(strings.Repeat(`<path class="a" d="M0 0L10 10" style="fill:url(#g)"/>`, 10000)),
	}
	corpus := testcorpus.Open[truth](b)
	for _, file := range corpus.Images() {
		if file.Path == "images/photo-12mp-canon.jpg" {
			sources["jpeg-12mp"] = string(corpus.Read(b, file.Path))
		}
	}
	for name, source := range sources {
		src := []byte(source)
		b.Run("source="+name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if err := media.Inspect(src, media.Sniff(src), media.DefaultLimits()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPlan is all that is decided for a request: its query, the format
// and the plan.
func BenchmarkPlan(b *testing.B) {
	values := url.Values{"sizes": {"300x0,600x0"}, "fit": {"cover"}, "quality": {"60"}}
	can, limits, info := everything(), media.DefaultLimits(), photo()
	b.ReportAllocs()
	for b.Loop() {
		req, err := media.Parse(values, limits)
		if err != nil {
			b.Fatal(err)
		}
		format := media.Negotiate(media.ParseAccept(chrome), info, req, can)
		if _, err := media.NewPlan(info, req, format, can, limits); err != nil {
			b.Fatal(err)
		}
	}
}
