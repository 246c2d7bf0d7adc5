package progressive_test

import (
	"bytes"
	"errors"
	"image/jpeg"
	"io"
	"testing"

	"github.com/spillway-media/spillway/h2/priority"
	"github.com/spillway-media/spillway/internal/progressive"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// reordered is what comes out when data come in pieces of step bytes.
func reordered(tb testing.TB, data []byte, step int) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := progressive.NewFrameFirst(&out)
	for rest := data; len(rest) > 0; {
		piece := rest[:min(step, len(rest))]
		if n, err := w.Write(piece); n != len(piece) || err != nil {
			tb.Fatalf("Write: %d of %d, %v", n, len(piece), err)
		}
		rest = rest[len(piece):]
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func TestMetadataGoBehindTheFrame(t *testing.T) {
	exif, xmp := segment(0xe1, []byte("Exif\x00\x00 and more")), segment(0xe1, make([]byte, 3000))
	profile, note := segment(0xe2, make([]byte, 60_000)), segment(0xfe, []byte("note"))
	jfif, adobe, table := segment(0xe0, []byte("JFIF\x00 and more")), segment(0xee, []byte("Adobe")), segment(0xdb, make([]byte, 65))
	in := jpegOf(0xc2, 3, turbo(), bytes.Join([][]byte{jfif, exif, xmp, profile, adobe, note, table}, nil), nil)
	want := jpegOf(0xc2, 3, turbo(), bytes.Join([][]byte{jfif, exif, adobe, table}, nil), bytes.Join([][]byte{xmp, profile, note}, nil))
	for _, step := range []int{1, 2, 3, 1000, len(in)} {
		if out := reordered(t, in, step); !bytes.Equal(out, want) {
			t.Errorf("in steps of %d: %d bytes, want %d, and these", step, len(out), len(want))
		}
	}
	if before, after := progressive.Measure("jpeg", in).Of(priority.Header), progressive.Measure("jpeg", want).Of(priority.Header); before < 63_000 || after > 200 {
		t.Errorf("the header has %d bytes, %d before", after, before)
	}
}

func TestWhatHasNoFrameIsPassedOnAsItIs(t *testing.T) {
	large := bytes.Repeat(segment(0xe2, make([]byte, 65_000)), 20)
	whole := turboJPEG()
	for name, data := range map[string][]byte{
		"nothing":                 nil,
		"one byte":                whole[:1],
		"a cut":                   whole[:100],
		"no JPEG":                 []byte("\x89PNG and so on"),
		"a scan without a frame":  append([]byte{0xff, 0xd8}, segment(0xda, make([]byte, 10))...),
		"no marker where one is":  append([]byte{0xff, 0xd8}, "hello"...),
		"a length that is none":   {0xff, 0xd8, 0xff, 0xe1, 0, 1, 2, 3},
		"more than is to be held": jpegOf(0xc2, 3, turbo(), large, nil),
	} {
		t.Run(name, func(t *testing.T) {
			for _, step := range []int{1, 4096} {
				if out := reordered(t, data, step); !bytes.Equal(out, data) {
					t.Errorf("in steps of %d other bytes come out, %d for %d", step, len(out), len(data))
				}
			}
		})
	}
}

func TestAWriterThatFailsIsHeardOf(t *testing.T) {
	full := errors.New("full")
	w := progressive.NewFrameFirst(failing{full})
	if _, err := w.Write(turboJPEG()); !errors.Is(err, full) {
		t.Errorf("Write gives %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestGoReadsWhatIsReordered: its decoder takes metadata wherever they stand.
func TestGoReadsWhatIsReordered(t *testing.T) {
	block := testpictures.EXIF{Orientation: 6, Artist: "Ada"}.Bytes()
	segments := append(testpictures.ICCSegments(testpictures.WideGamutProfile(), 0), testpictures.EXIFSegment(block))
	in := testpictures.JPEG(testpictures.Scene(120, 80), 90, segments...)
	out := reordered(t, in, 512)
	if bytes.Equal(in, out) || len(in) != len(out) {
		t.Fatalf("%d bytes came out of %d, in the same order", len(out), len(in))
	}
	before, err := jpeg.Decode(bytes.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	after, err := jpeg.Decode(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	for y := range 80 {
		for x := range 120 {
			if before.At(x, y) != after.At(x, y) {
				t.Fatalf("the pixel at %d,%d is another", x, y)
			}
		}
	}
}

func FuzzFrameFirst(f *testing.F) {
	f.Add(turboJPEG(), 7)
	f.Add(jpegOf(0xc2, 3, turbo(), segment(0xe1, make([]byte, 30)), nil), 100)
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		step = max(step, 1)
		out := reordered(t, data, step)
		if !bytes.Equal(out, reordered(t, data, len(data)+1)) {
			t.Fatal("the bytes depend on the split")
		}
		if len(out) != len(data) {
			t.Fatalf("%d bytes came out of %d", len(out), len(data))
		}
		var counts [256]int
		for i := range data {
			counts[data[i]]++
			counts[out[i]]--
		}
		if counts != [256]int{} {
			t.Fatal("other bytes come out")
		}
	})
}

var _ io.WriteCloser = (*progressive.FrameFirst)(nil)
