package progressive_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/h2/priority"
	"github.com/spillway-media/spillway/internal/progressive"
)

// phases is that of each byte, when the file comes in pieces of the lengths
// that next gives.
func phases(tb testing.TB, format string, total int64, data []byte, next func() int) []priority.Phase {
	tb.Helper()
	c := progressive.NewCutter(format, total)
	all := make([]priority.Phase, 0, len(data))
	for len(data) > 0 {
		piece := data[:min(max(next(), 1), len(data))]
		data = data[len(piece):]
		for len(piece) > 0 {
			n, phase := c.Next(piece)
			if n < 1 || n > len(piece) {
				tb.Fatalf("%s: Next takes %d of %d bytes", format, n, len(piece))
			}
			for range n {
				all = append(all, phase)
			}
			piece = piece[n:]
		}
	}
	return all
}

func whole(data []byte) func() int { return func() int { return len(data) } }

// TestBytesOutAreBytesIn is the first promise: whatever the length of a file
// and the sizes of its pieces, every byte comes out once, in order.
func TestBytesOutAreBytesIn(t *testing.T) {
	for format, sample := range samples() {
		for length := range len(sample) + 1 {
			data := sample[:length]
			for _, step := range []int{1, 7, 64, length} {
				c := progressive.NewCutter(format, int64(length))
				var out []byte
				for rest := data; len(rest) > 0; {
					piece := rest[:min(max(step, 1), len(rest))]
					for len(piece) > 0 {
						n, _ := c.Next(piece)
						out = append(out, piece[:n]...)
						piece, rest = piece[n:], rest[n:]
					}
				}
				if string(out) != string(data) {
					t.Fatalf("%s: of %d bytes in steps of %d, %d come out", format, length, step, len(out))
				}
			}
		}
	}
}

func TestPhasesDoNotDependOnHowBytesAreSplit(t *testing.T) {
	for format, data := range samples() {
		for _, total := range []int64{-1, int64(len(data))} {
			want := phases(t, format, total, data, whole(data))
			if got := phases(t, format, total, data, func() int { return 1 }); !slices.Equal(want, got) {
				t.Errorf("%s of %d bytes: byte by byte the phases are others", format, total)
			}
			for cut := 1; cut < len(data); cut++ {
				first := true
				got := phases(t, format, total, data, func() int {
					if first {
						first = false
						return cut
					}
					return len(data)
				})
				if !slices.Equal(want, got) {
					t.Fatalf("%s of %d bytes: cut at %d the phases are others", format, total, cut)
				}
			}
		}
	}
}

func TestNothingIsTakenFromNothing(t *testing.T) {
	c := progressive.NewCutter("jpeg", -1)
	if n, phase := c.Next(nil); n != 0 || phase != priority.Header {
		t.Errorf("Next(nil) = %d, %v", n, phase)
	}
}

func TestPhasesOfEachFormat(t *testing.T) {
	const body, header, preview, good, rest = priority.Body, priority.Header, priority.Preview, priority.Good, priority.Rest
	jpeg := turboJPEG()
	want := reference(jpeg, int64(len(jpeg)))
	for _, test := range []struct {
		name   string
		format string
		data   []byte
		want   progressive.Sizes
	}{
		{"a progressive JPEG has four", "jpeg", jpeg, want},
		{"a still WebP of one chunk", "webp", webpOf(chunk("VP8 ", 100)), progressive.Sizes{header: 30, body: 90}},
		{"a lossless WebP", "webp", webpOf(chunk("VP8L", 100)), progressive.Sizes{header: 25, body: 95}},
		{"an extended WebP", "webp", webpOf(chunk("VP8X", 10), chunk("VP8 ", 100)), progressive.Sizes{header: 30, body: 108}},
		{"an animated WebP previews its first frame", "webp", animatedWebP(), progressive.Sizes{header: 30, preview: 14 + 8 + 100, rest: 2 * 58}},
		{"an Adam7 PNG is estimated", "png", pngOf(true, 10_000), progressive.Sizes{header: 33, preview: 767, good: 4500, rest: 4700}},
		{"a PNG of lines", "png", pngOf(false, 10_000), progressive.Sizes{header: 33, body: 9967}},
		{"an AVIF is nothing until it is all", "avif", avif(), progressive.Sizes{header: 28 + 258, body: 708}},
		{"an AVIF whose picture comes first", "avif", append(box("ftyp", 20), box("mdat", 700)...), progressive.Sizes{header: 36, body: 700}},
		{"a box with a long size", "avif", append(wideBox("ftyp", 20), wideBox("meta", 100)...), progressive.Sizes{header: 36 + 116}},
		{"a bare JPEG XL", "jxl", append([]byte("\xff\x0a"), make([]byte, 998)...), progressive.Sizes{header: 32, preview: 170, good: 350, rest: 448}},
		{"a still GIF is a preview", "gif", gifOf(1), progressive.Sizes{header: 13 + 12 + 9 + 8 + 10, preview: 6 + 9, rest: 1}},
		{"an animated GIF previews its first frame", "gif", gifOf(3), progressive.Sizes{header: 52, preview: 15, rest: 2*33 + 1}},
		{"a GIF without a frame", "gif", gifOf(0), progressive.Sizes{header: 35}},
		{"a TIFF has none", "tiff", make([]byte, 77), progressive.Sizes{body: 77}},
		{"what is no JPEG", "jpeg", []byte("hello, world"), progressive.Sizes{header: 1, body: 11}},
		{"nothing", "jpeg", nil, progressive.Sizes{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, progressive.Measure(test.format, test.data)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAnInterlacedPNGOfUnknownLength goes by its pixels: 64 x 64 in RGB are
// taken for 6,144 bytes.
func TestAnInterlacedPNGOfUnknownLength(t *testing.T) {
	var sizes progressive.Sizes
	data := pngOf(true, 10_000)
	for _, phase := range phases(t, "png", -1, data, whole(data)) {
		sizes[phase]++
	}
	want := progressive.Sizes{priority.Header: 33, priority.Preview: 458, priority.Good: 2765, priority.Rest: 6744}
	if diff := cmp.Diff(want, sizes); diff != "" {
		t.Error(diff)
	}
}

// TestCutterKeepsNothing holds the bound on its memory: what is cut is never
// copied.
func TestCutterKeepsNothing(t *testing.T) {
	data := turboJPEG()
	for format := range samples() {
		c := progressive.NewCutter(format, int64(len(data)))
		c.Next(data[:1])
		allocated := testing.AllocsPerRun(20, func() {
			for rest := data; len(rest) > 0; {
				n, _ := c.Next(rest)
				rest = rest[n:]
			}
		})
		if allocated > 0 {
			t.Errorf("%s: %v allocations", format, allocated)
		}
	}
}

func FuzzCutter(f *testing.F) {
	formats := []string{"jpeg", "png", "webp", "gif", "avif", "jxl", "tiff", ""}
	for format, data := range samples() {
		f.Add(uint8(slices.Index(formats, format)), data, uint64(1), true)
		f.Add(uint8(slices.Index(formats, format)), data[:len(data)/2], uint64(2), false)
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte, seed uint64, known bool) {
		format := formats[int(kind)%len(formats)]
		total := int64(-1)
		if known {
			total = int64(len(data))
		}
		want := phases(t, format, total, data, whole(data))
		random := rand.New(rand.NewPCG(seed, 0))
		got := phases(t, format, total, data, func() int { return random.IntN(1 + random.IntN(64)) })
		if !slices.Equal(want, got) {
			t.Fatal("the phases depend on the split")
		}
		if len(want) != len(data) {
			t.Fatalf("%d bytes have %d phases", len(data), len(want))
		}
		if err := inOrder(want); err != nil {
			t.Fatal(err)
		}
		if format == "jpeg" {
			var sizes progressive.Sizes
			for _, phase := range want {
				sizes[phase]++
			}
			if diff := cmp.Diff(reference(data, total), sizes); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// inOrder tells whether phases only go on, and nothing follows what is body.
func inOrder(all []priority.Phase) error {
	rank := map[priority.Phase]int{priority.Header: 0, priority.Preview: 1, priority.Good: 2, priority.Rest: 3, priority.Body: 4}
	for i := 1; i < len(all); i++ {
		if rank[all[i]] < rank[all[i-1]] || all[i] == priority.Body && all[i-1] > priority.Header {
			return fmt.Errorf("byte %d: phase %d follows %d", i, all[i], all[i-1])
		}
	}
	return nil
}
