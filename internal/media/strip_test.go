package media_test

import (
	"bytes"
	"image"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"golang.org/x/image/webp"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

const secret = "where and when it was taken"

// plainInfo is of a source that may be handed on as it is.
func plainInfo(format media.Format) media.Info {
	return media.Info{Format: format, Width: 40, Height: 30, Orientation: 1, Frames: 1, Bands: 3, BitDepth: 8, Colourspace: "srgb"}
}

// richJPEG has metadata of every kind, a thumbnail, and more behind its end.
func richJPEG(profile []byte) []byte {
	jfif := append([]byte("JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x01\x01"), "rgb"...)
	segments := []testpictures.Segment{
		{Marker: 0xe0, Data: jfif}, testpictures.CommentSegment(secret), testpictures.XMPSegment(secret),
		testpictures.EXIFSegment(testpictures.EXIF{Orientation: 1, Artist: secret, Latitude: 47, Longitude: 11}.Bytes()),
		{Marker: 0xed, Data: []byte(secret)},
	}
	if profile != nil {
		segments = append(segments, testpictures.ICCSegments(profile, 500)...)
	}
	return append(testpictures.JPEG(testpictures.Scene(40, 30), 90, segments...), secret...)
}

func pngWith(chunks ...testpictures.Chunk) []byte {
	return testpictures.PNGOf(testpictures.SceneAlpha(40, 30), 8, testpictures.PNGRGBA, false, chunks...)
}

// webpWith is a picture between metadata.
func webpWith(profile []byte) []byte {
	header := "\x2c\x00\x00\x00\x27\x00\x00\x1d\x00\x00"
	body := riffChunk("VP8X", header)
	if profile != nil {
		body += riffChunk("ICCP", string(profile))
	}
	still := testpictures.SolidWebP(40, 30, testpictures.Scene(40, 30).NRGBAAt(1, 1))
	return []byte(riff(body, string(still[12:]), riffChunk("EXIF", secret), riffChunk("XMP ", secret), riffChunk("junk", secret)))
}

// commentedGIF is an animation with a comment, another program's extension,
// and bytes behind its end.
func commentedGIF() []byte {
	plain := testpictures.ManyFrames(40, 30, 3)
	at := 13 + 3<<(plain[10]&7+1)*int(plain[10]>>7)
	extensions := "\x21\xfe" + string(rune(len(secret))) + secret + "\x00" + "\x21\xff\x0bXMP DataXMP" + string(rune(len(secret))) + secret + "\x00"
	return append([]byte(string(plain[:at])+extensions+string(plain[at:])), secret...)
}

func TestStripLeavesThePictureAndNothingElse(t *testing.T) {
	text := testpictures.Chunk{Name: "tEXt", Data: []byte("Comment\x00" + secret)}
	gamma := testpictures.Chunk{Name: "gAMA", Data: []byte{0, 0, 0xb1, 0x8f}}
	tests := map[string]struct {
		src  []byte
		info media.Info
	}{
		"JPEG":                            {richJPEG(nil), plainInfo(media.JPEG)},
		"JPEG with a profile of sRGB":     {richJPEG(testpictures.SRGBProfile()), plainInfo(media.JPEG)},
		"PNG":                             {pngWith(text, gamma), plainInfo(media.PNG)},
		"PNG with a profile of sRGB":      {pngWith(text, testpictures.ICCChunk(testpictures.SRGBProfile())), plainInfo(media.PNG)},
		"PNG with a palette":              {testpictures.PalettePNG(40, 30), plainInfo(media.PNG)},
		"PNG with a colour that is clear": {testpictures.ColourKeyPNG(40, 30), plainInfo(media.PNG)},
		"WebP":                            {webpWith(nil), plainInfo(media.WebP)},
		"WebP with a profile of sRGB":     {webpWith(testpictures.SRGBProfile()), plainInfo(media.WebP)},
		"GIF":                             {commentedGIF(), plainInfo(media.GIF)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := bytes.Clone(test.src)
			out, ok := media.Strip(test.src, test.info)
			if !ok {
				t.Fatal("it is refused")
			}
			if bytes.Contains(out, []byte(secret)) || bytes.Contains(out, []byte("profile")) {
				t.Error("something is left that nobody needs")
			}
			if len(out) > len(test.src) || !bytes.Equal(before, test.src) {
				t.Errorf("%d bytes of %d, and the source is as it was: %t", len(out), len(test.src), bytes.Equal(before, test.src))
			}
			samePixels(t, test.info.Format, test.src, out)
			again, ok := media.Strip(out, test.info)
			if !ok || !bytes.Equal(again, out) {
				t.Error("stripping it again gives something else")
			}
			found, err := media.Examine(out, test.info.Format, media.DefaultLimits())
			if err != nil || found.Width != 40 || found.Height != 30 {
				t.Errorf("it reads as %+v, %v", found, err)
			}
		})
	}
}

func TestStripRefusesWhatWouldBeShownInAnotherWay(t *testing.T) {
	with := func(format media.Format, change func(*media.Info)) media.Info {
		info := plainInfo(format)
		change(&info)
		return info
	}
	jpg, gamma := richJPEG(nil), []byte{0, 1, 0x86, 0xa0}
	cmyk := testpictures.CMYKJPEG(testpictures.CMYK(40, 30), testpictures.CMYKKind(0))
	disordered := testpictures.InsertSegments(jpg, testpictures.Segment{Marker: 0xe2, Data: []byte("ICC_PROFILE\x00\x02\x02rest")})
	tests := map[string]struct {
		src  []byte
		info media.Info
	}{
		"a picture that has to be turned":       {jpg, with(media.JPEG, func(i *media.Info) { i.Orientation = 6 })},
		"one in CMYK":                           {jpg, with(media.JPEG, func(i *media.Info) { i.Colourspace = "cmyk" })},
		"one with four components":              {cmyk, plainInfo(media.JPEG)},
		"one of more than eight bits":           {pngWith(), with(media.PNG, func(i *media.Info) { i.BitDepth = 16 })},
		"a JPEG with a wide profile":            {richJPEG(testpictures.WideGamutProfile()), plainInfo(media.JPEG)},
		"a JPEG whose profile is out of order":  {disordered, plainInfo(media.JPEG)},
		"a PNG with a wide profile":             {pngWith(testpictures.ICCChunk(testpictures.WideGamutProfile())), plainInfo(media.PNG)},
		"a PNG whose profile is broken":         {pngWith(testpictures.Chunk{Name: "iCCP", Data: []byte("x\x00\x00junk")}), plainInfo(media.PNG)},
		"a PNG of another gamma":                {pngWith(testpictures.Chunk{Name: "gAMA", Data: gamma}), plainInfo(media.PNG)},
		"a PNG of other primaries":              {pngWith(testpictures.Chunk{Name: "cHRM", Data: make([]byte, 32)}), plainInfo(media.PNG)},
		"a PNG that browsers animate":           {pngWith(testpictures.Chunk{Name: "acTL", Data: make([]byte, 8)}), plainInfo(media.PNG)},
		"a PNG with a critical chunk we do not": {pngWith(testpictures.Chunk{Name: "ABCD"}), plainInfo(media.PNG)},
		"a WebP with a wide profile":            {webpWith(testpictures.WideGamutProfile()), plainInfo(media.WebP)},
		"a WebP whose profile is for grey":      {webpWith(testpictures.LinearGreyProfile()), plainInfo(media.WebP)},
		"a JPEG that is cut short":              {jpg[:200], plainInfo(media.JPEG)},
		"a format that is not written so":       {[]byte("BM"), plainInfo(media.BMP)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if out, ok := media.Strip(test.src, test.info); ok {
				t.Errorf("it is taken, %d bytes of %d", len(out), len(test.src))
			}
		})
	}
}

// frames decodes all of a file, with decoders of the standard library.
func frames(format media.Format, src []byte) ([]image.Image, error) {
	var still image.Image
	var err error
	switch format {
	case media.GIF:
		all, err := gif.DecodeAll(bytes.NewReader(src))
		if err != nil {
			return nil, err
		}
		var list []image.Image
		for _, frame := range all.Image {
			list = append(list, frame)
		}
		return list, nil
	case media.JPEG:
		still, err = jpeg.Decode(bytes.NewReader(src))
	case media.PNG:
		still, err = png.Decode(bytes.NewReader(src))
	case media.WebP:
		still, err = webp.Decode(bytes.NewReader(src))
	}
	return []image.Image{still}, err
}

// samePixels fails unless two files decode alike; before has to decode.
func samePixels(t *testing.T, format media.Format, before, after []byte) {
	t.Helper()
	want, err := frames(format, before)
	if err != nil {
		t.Fatalf("decode the source: %v", err)
	}
	got, err := frames(format, after)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d frames of %d: %v", len(got), len(want), err)
	}
	for i := range want {
		if got[i].Bounds() != want[i].Bounds() || !bytes.Equal(flat(got[i]).Pix, flat(want[i]).Pix) {
			t.Errorf("frame %d differs", i)
		}
	}
}

func flat(img image.Image) *image.NRGBA {
	out := image.NewNRGBA(img.Bounds())
	draw.Draw(out, out.Rect, img, out.Rect.Min, draw.Src)
	return out
}

// FuzzStrip holds for whatever it takes: it is no longer than before, takes no
// second stripping, and decodes to the same pixels where the source decodes.
func FuzzStrip(f *testing.F) {
	addFiles(f)
	for _, src := range [][]byte{richJPEG(testpictures.SRGBProfile()), pngWith(), webpWith(nil), webpWith(testpictures.SRGBProfile()), commentedGIF(), testpictures.WebPFrames(8, 8, 4, 4, 2)} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		before := string(src)
		for _, format := range []media.Format{media.JPEG, media.PNG, media.WebP, media.GIF} {
			out, ok := media.Strip(src, plainInfo(format))
			if before != string(src) {
				t.Fatal("the source was changed")
			}
			if !ok {
				continue
			}
			if len(out) > len(src) {
				t.Fatalf("%d bytes became %d", len(src), len(out))
			}
			if again, ok := media.Strip(out, plainInfo(format)); !ok || !bytes.Equal(again, out) {
				t.Fatalf("stripped again, %q is %q", out, again)
			}
			if media.Sniff(src) != format {
				continue
			}
			if _, err := media.Examine(src, format, media.DefaultLimits()); err != nil || !small(src) {
				continue
			}
			if _, err := frames(format, src); err == nil {
				samePixels(t, format, src, out)
			}
		}
	})
}

// small keeps the fuzzer from decoding what takes long.
func small(src []byte) bool {
	config, _, err := image.DecodeConfig(bytes.NewReader(src))
	return err == nil && config.Width*config.Height < 1<<16
}

func TestPlansKeepTheOriginalOnlyWhenNothingIsAsked(t *testing.T) {
	animation := func(i *media.Info) {
		i.Format, i.Animated, i.Frames, i.Width, i.Height = media.GIF, true, 3, 40, 30
	}
	tests := []struct {
		name   string
		info   media.Info
		req    media.Request
		format media.Format
		want   bool
	}{
		{"nothing is asked", photo(), wish(), media.JPEG, true},
		{"the format is asked for by its name", photo(), wish(func(r *media.Request) { r.Format = media.JPEG }), media.JPEG, true},
		{"the box is larger", photo(), wish(boxes(media.Size{Width: 8000}), dense(2)), media.JPEG, true},
		{"the box is its own size", photo(), wish(boxes(media.Size{Width: 4000, Height: 3000}), fitted(media.Cover)), media.JPEG, true},
		{"the server is busy", photo(), wish(func(r *media.Request) { r.Effort = media.EffortEased }), media.JPEG, true},
		{"it travels in JSON", photo(), wish(func(r *media.Request) { r.Encoder = media.EncodeJSON }), media.JPEG, true},
		{"a progressive one is, and may be so", photo(func(i *media.Info) { i.Progressive = true }), wish(jpegOnly), media.JPEG, true},
		{"one that is not should be so", photo(), wish(jpegOnly), media.JPEG, false},
		{"all frames are kept", photo(animation), wish(), media.GIF, true},
		{"some frames are", photo(animation), wish(func(r *media.Request) { r.Frames = 2 }), media.GIF, false},
		{"it begins at a later one", photo(animation), wish(func(r *media.Request) { r.Page = 2 }), media.GIF, false},
		{"the format is another", photo(), wish(), media.WebP, false},
		{"it is resized", photo(), wish(boxes(media.Size{Width: 300})), media.JPEG, false},
		{"it is enlarged", photo(), wish(boxes(media.Size{Width: 5000}), enlarged), media.JPEG, false},
		{"it is padded", photo(), wish(boxes(media.Size{Width: 4000, Height: 4000}), fitted(media.Contain)), media.JPEG, false},
		{"it is to be turned", photo(func(i *media.Info) { i.Orientation = 3 }), wish(), media.JPEG, false},
		{"there are two", photo(), wish(boxes(media.Size{}, media.Size{Width: 8000})), media.JPEG, false},
	}
	changes := map[string]func(*media.Request){
		"quality":     func(r *media.Request) { r.Quality = 80 },
		"effort":      func(r *media.Request) { r.Effort = 5 },
		"max_bytes":   func(r *media.Request) { r.MaxBytes = 1 << 20 },
		"progressive": func(r *media.Request) { r.Progressive = true },
		"keep":        func(r *media.Request) { r.Keep.Copyright = true },
		"crop":        func(r *media.Request) { r.Crop = &media.Rect{Width: 4000, Height: 3000} },
		"rotate":      func(r *media.Request) { r.Rotate = 180 },
		"flip":        func(r *media.Request) { r.Flip = true },
		"trim":        func(r *media.Request) { r.Trim = 10 },
		"blur":        func(r *media.Request) { r.Blur = 1 },
		"sharpen":     func(r *media.Request) { r.Sharpen = 1 },
		"grayscale":   func(r *media.Request) { r.Grayscale = true },
		"background":  func(r *media.Request) { r.Background = &media.Colour{A: 255} },
		"watermark":   func(r *media.Request) { r.Watermark = &media.Watermark{URL: "a.png", Opacity: 1} },
	}
	for name, change := range changes {
		tests = append(tests, struct {
			name   string
			info   media.Info
			req    media.Request
			format media.Format
			want   bool
		}{name + " is asked for", photo(), wish(change), media.JPEG, false})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := planned(t, test.info, test.req, test.format).KeepsOriginal(); got != test.want {
				t.Errorf("keeps the original: %t, want %t", got, test.want)
			}
		})
	}
}

func TestStripKnowsPlainSRGB(t *testing.T) {
	profile := testpictures.SRGBProfile()
	for cut := range len(profile) {
		if out, ok := media.Strip(webpWith(profile[:cut]), plainInfo(media.WebP)); ok {
			if cut < len(profile)-3 { // the last bytes are padding
				t.Errorf("a profile cut at %d is taken, %d bytes", cut, len(out))
			}
		}
	}
}
