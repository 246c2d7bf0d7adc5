package media_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testcorpus"
)

// checkFault fails on an error that a client could not be told.
func checkFault(t *testing.T, err error) {
	t.Helper()
	var fault *media.Error
	if err != nil && !errors.As(err, &fault) {
		t.Fatalf("%v is no *media.Error", err)
	}
	if fault != nil && (fault.Code == "" || !strings.HasSuffix(fault.Detail, ".")) {
		t.Fatalf("%#v cannot be told", fault)
	}
}

// FuzzParse holds that a request which was read can be spelled canonically,
// and that reading this spelling gives the same one.
func FuzzParse(f *testing.F) {
	for _, query := range []string{
		"", "sizes=300x0,1200x800&format=webp&quality=60", "fit=cover&gravity=0.5,0.25&enlarge", "crop=1,2,3,4&rotate=-90&flip&flop&trim=12.5",
		"background=f80&blur=1.5&sharpen=.5&grayscale", "watermark=a%26b&watermark_gravity=center&watermark_x=-3&watermark_scale=0.1",
		"max_bytes=5000&effort=3&progressive&page=2&frames=4&strip=false&keep=exif,icc&encoder=json", "sizes=1x1&sizes=2x2", "qualty=1", "dpr=1.5&sizes=33x7",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		limits := media.DefaultLimits()
		limits.OutputSide = 65535
		req, err := media.Parse(values, limits)
		checkFault(t, err)
		if err != nil {
			return
		}
		if len(req.Sizes) == 0 || len(req.Sizes) > limits.Outputs || req.DPR < 0.1 || req.Rotate%90 != 0 || req.Effort < -1 {
			t.Fatalf("%q gives %+v", query, req)
		}
		spelling := req.Canonical()
		again, err := url.ParseQuery(spelling)
		if err != nil {
			t.Fatalf("%q is no query: %v", spelling, err)
		}
		second, err := media.Parse(again, limits)
		if err != nil && req.DPR <= 1 {
			t.Fatalf("%q of %q is not read: %v", spelling, query, err)
		}
		if err == nil && second.Canonical() != spelling {
			t.Fatalf("%q becomes %q, then %q", query, spelling, second.Canonical())
		}
	})
}

func FuzzSizes(f *testing.F) {
	for _, text := range []string{"300x0", "0x0", "x", "-1x1", "1x1x1", "+1x2", "16384x16385", "٣x3", "1e2x1", "00300x000"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		size, ok := media.ParseSize(text, 16384)
		if !ok {
			return
		}
		if size.Width < 0 || size.Height < 0 || size.Width > 16384 || size.Height > 16384 || strings.Trim(text, "0123456789x") != "" {
			t.Fatalf("%q is read as %+v", text, size)
		}
	})
}

// addFiles seeds a fuzz target with generated files and the small ones of the
// corpus.
func addFiles(f *testing.F) {
	f.Helper()
	for _, src := range []string{
		string(encoded(f, media.JPEG)), string(encoded(f, media.PNG)), string(encoded(f, media.GIF)),
		riff(vp8l(300, 200)), riff(vp8x(50, 40), anmf(50, 40)), heif("avif", 300, 200), heif("heic", 300, 200), bmp(3, 2, 24, 24),
		tiff(0, [3]uint32{256, 1, 300}, [3]uint32{257, 1, 200}, [3]uint32{273, 1, 8}, [3]uint32{279, 1, 20}),
		box("JXL ", "\r\n\x87\n") + box("jxlc", "pixels"), box("jP  ", "\r\n\x87\n") + box("jp2c", "\xff\x4f\xff\x51"+strings.Repeat("\x00", 40)),
		drawing(`<style>.a{mask:url(#m)}</style><mask id="m"><g class="a" filter="url(#f)"/></mask><use xlink:href="#m"/>`),
		`<!DOCTYPE svg [<!ENTITY a "b"><!ATTLIST svg x CDATA #IMPLIED>]>` + drawing("&a;"), gzipped(f, drawing()), "%PDF-1.7",
	} {
		f.Add([]byte(src))
	}
	corpus := testcorpus.Open[truth](f)
	for _, file := range corpus.Images() {
		if file.Bytes <= 4096 {
			f.Add(corpus.Read(f, file.Path))
		}
	}
}

func FuzzSniff(f *testing.F) {
	addFiles(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		if format := media.Sniff(src); format != media.Unknown && format.Extension() == "" {
			t.Fatalf("sniffed as %q", format)
		}
	})
}

// FuzzInspect runs every walker over every input, not only the one that the
// first bytes ask for.
func FuzzInspect(f *testing.F) {
	addFiles(f)
	formats := []media.Format{media.JPEG, media.PNG, media.GIF, media.WebP, media.AVIF, media.HEIC, media.JXL, media.JP2, media.TIFF, media.BMP, media.SVG, media.PDF}
	f.Fuzz(func(t *testing.T, src []byte) {
		before := string(src)
		for _, format := range append(formats, media.Sniff(src)) {
			_, err := media.Examine(src, format, media.DefaultLimits())
			checkFault(t, err)
		}
		if diff := cmp.Diff(before, string(src)); diff != "" {
			t.Fatalf("the source was changed: %s", diff)
		}
	})
}

func FuzzAccept(f *testing.F) {
	for _, header := range []string{chrome, firefox, safari, curl, "image/avif;q=0.5;x=\"a,b\"", ";;q=,=", "image/webp;q=1.0000"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		accept := media.ParseAccept(header)
		got := media.Negotiate(accept, photo(), media.NewRequest(), everything())
		if (got == media.AVIF || got == media.WebP) && !strings.Contains(strings.ToLower(header), "image/"+string(got)) {
			t.Fatalf("%q gives %s", header, got)
		}
	})
}
