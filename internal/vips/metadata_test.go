package vips_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

const (
	artist  = "Ada Photographer"
	rights  = "2026 Ada, all rights"
	xmpText = "rights in a packet"
)

// tagged is a JPEG with everything a camera may put beside the pixels.
func tagged() []byte {
	block := testpictures.EXIF{Orientation: 6, Artist: artist, Copyright: rights, Latitude: 47, Longitude: 11}.Bytes()
	segments := []testpictures.Segment{testpictures.EXIFSegment(block), testpictures.XMPSegment(xmpText), testpictures.CommentSegment("a remark")}
	segments = append(segments, testpictures.ICCSegments(testpictures.WideGamutProfile(), 0)...)
	return testpictures.JPEG(testpictures.Stored(testpictures.Scene(120, 80), 6), 90, segments...)
}

func TestMetadataIsDroppedUnlessKept(t *testing.T) {
	src := tagged()
	tests := map[string]struct {
		keep            media.Keep
		present, absent []string
	}{
		"nothing by default": {media.Keep{}, nil, []string{artist, rights, xmpText, "a remark", "Exif", "wide gamut", "GPS"}},
		"copyright alone":    {media.Keep{Copyright: true}, []string{artist, rights}, []string{xmpText, "a remark", "wide gamut"}},
		"EXIF":               {media.Keep{EXIF: true}, []string{artist, rights}, []string{xmpText, "a remark", "wide gamut"}},
		"XMP":                {media.Keep{XMP: true}, []string{xmpText}, []string{artist, "a remark", "wide gamut"}},
		"the profile":        {media.Keep{ICC: true}, nil, []string{artist, xmpText, "a remark"}},
	}
	for name, test := range tests {
		for _, format := range []media.Format{media.JPEG, media.WebP} {
			t.Run(fmt.Sprintf("%s in %s", name, format), func(t *testing.T) {
				out := render(t, src, ask(60, 0, func(r *media.Request) { r.Keep = test.keep }), format)
				for _, text := range test.present {
					if !bytes.Contains(out.data, []byte(text)) {
						t.Errorf("%q is lost", text)
					}
				}
				for _, text := range test.absent {
					if bytes.Contains(out.data, []byte(text)) {
						t.Errorf("%q is still there", text)
					}
				}
			})
		}
	}
}

func TestKeptNoticesAreAsTheyWere(t *testing.T) {
	src := tagged()
	for _, keep := range []media.Keep{{Copyright: true}, {EXIF: true}} {
		for _, format := range []media.Format{media.JPEG, media.WebP} {
			out := render(t, src, ask(60, 0, func(r *media.Request) { r.Keep = keep }), format).data
			for _, text := range []string{artist, rights} {
				if !bytes.Contains(out, []byte(text+"\x00")) || bytes.Contains(out, []byte(text+" (")) {
					t.Errorf("%q is not as it was in %s with %+v", text, format, keep)
				}
			}
		}
	}
}

func TestKeptEXIFDoesNotTurnThePictureTwice(t *testing.T) {
	src := tagged()
	for _, format := range []media.Format{media.JPEG, media.WebP, media.PNG, media.TIFF, media.AVIF} {
		t.Run(string(format), func(t *testing.T) {
			out := render(t, src, ask(60, 0, func(r *media.Request) { r.Keep = media.Keep{EXIF: true, XMP: true, ICC: true} }), format)
			info, err := start(t).Probe(t.Context(), out.data, media.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if info.Orientation != 1 || info.Width != 60 || info.Height != 40 {
				t.Errorf("reads as %dx%d with orientation %d", info.Width, info.Height, info.Orientation)
			}
		})
	}
}

func TestPlaceIsKeptOnlyWithEXIF(t *testing.T) {
	gps := map[bool]media.Keep{false: {Copyright: true, XMP: true, ICC: true, IPTC: true}, true: {EXIF: true}}
	for want, keep := range gps {
		t.Run(fmt.Sprintf("keep %+v", keep), func(t *testing.T) {
			out := render(t, tagged(), ask(60, 0, func(r *media.Request) { r.Keep = keep }), media.JPEG)
			if got := hasGPS(out.data); got != want {
				t.Errorf("place in the result: %v, want %v", got, want)
			}
		})
	}
}

// hasGPS looks for the tag of the GPS directory (0x8825) in either byte order.
func hasGPS(file []byte) bool {
	at := bytes.Index(file, []byte("Exif\x00\x00"))
	if at < 0 {
		return false
	}
	block := file[at:min(len(file), at+4096)]
	return bytes.Contains(block, []byte{0x25, 0x88, 4, 0}) || bytes.Contains(block, []byte{0x88, 0x25, 0, 4})
}

// The table of docs/http.md. What a format does not carry is only promised to
// raise no error.
func TestKeptMetadataTravelAsFarAsTheFormatCarriesThem(t *testing.T) {
	const line = "Ada of the press"
	block := "\x1c\x02\x50\x00" + string(rune(len(line))) + line
	resource := "Photoshop 3.0\x00" + "8BIM\x04\x04\x00\x00\x00\x00\x00" + string(rune(len(block))) + block
	src := testpictures.InsertSegments(tagged(), testpictures.Segment{Marker: 0xed, Data: []byte(resource + "\x00"[:len(block)%2])})
	const exif, xmp, iptc, icc = artist, xmpText, line, "profile"
	carried := map[media.Format][]string{
		media.JPEG: {exif, xmp, iptc, icc}, media.PNG: {exif, xmp, icc}, media.WebP: {exif, xmp, icc},
		media.AVIF: {exif, xmp, icc}, media.TIFF: {xmp, icc}, media.JXL: {icc}, media.GIF: {},
	}
	for format, texts := range carried {
		t.Run(string(format), func(t *testing.T) {
			req := ask(60, 0, func(r *media.Request) { r.Keep = media.Keep{EXIF: true, XMP: true, IPTC: true, ICC: true} })
			out := render(t, src, req, format).data
			plain := append(out, render(t, out, req, media.JPEG).data...) // PNG packs its texts
			info, err := start(t).Probe(t.Context(), out, media.DefaultLimits())
			if err != nil || info.Profile != slices.Contains(texts, icc) {
				t.Errorf("profile: %v, %v", info.Profile, err)
			}
			for _, text := range texts {
				if text != icc && !bytes.Contains(plain, []byte(text)) {
					t.Errorf("%q is lost", text)
				}
			}
		})
	}
}
