package demo_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/gif"
	_ "image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/web/demo"
)

// painted is the set painted into an empty folder, once for all tests.
var painted = sync.OnceValues(func() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "spillway-demo-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := demo.Ensure(context.Background(), dir); err != nil {
		return nil, err
	}
	return readAll(dir)
})

func readAll(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func set(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := painted()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func names(files map[string][]byte) map[string]bool {
	out := map[string]bool{}
	for name := range files {
		out[name] = true
	}
	return out
}

// ending is a context that ends after it was asked a number of times.
type ending struct {
	context.Context //nolint:containedctx // it is one
	mu              sync.Mutex
	left            int
}

func (e *ending) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestEnsure(t *testing.T) {
	first := set(t)

	t.Run("writes the listed pictures, its marker and nothing else", func(t *testing.T) {
		want := map[string]bool{".spillway-demo": true}
		for _, p := range demo.Pictures() {
			want[p.Key] = true
		}
		if diff := cmp.Diff(want, names(first)); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	})

	t.Run("paints anew what another version left, to the same bytes, and leaves other files alone", func(t *testing.T) {
		dir := t.TempDir()
		for name, body := range map[string]string{".spillway-demo": "0", "mountain-lake.jpg": "old", "mine.jpg": "mine"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := demo.Ensure(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		second, err := readAll(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(second["mine.jpg"]); got != "mine" {
			t.Errorf("somebody's own file holds %q now", got)
		}
		delete(second, "mine.jpg")
		if diff := cmp.Diff(names(first), names(second)); diff != "" {
			t.Fatalf("files (-want +got):\n%s", diff)
		}
		for name := range first {
			if !bytes.Equal(first[name], second[name]) {
				t.Errorf("%s differs between two paintings", name)
			}
		}
	})

	t.Run("touches nothing when all is there, and brings back what is missing", func(t *testing.T) {
		dir := t.TempDir()
		for name, body := range first {
			if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		// A changed byte would be overwritten by a new painting.
		chart := filepath.Join(dir, "test-chart.png")
		if err := os.WriteFile(chart, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, "weir.svg")); err != nil {
			t.Fatal(err)
		}
		if err := demo.Ensure(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		got, err := readAll(dir)
		if err != nil {
			t.Fatal(err)
		}
		if string(got["test-chart.png"]) != "kept" {
			t.Error("a picture that was there was painted again")
		}
		if !bytes.Equal(got["weir.svg"], first["weir.svg"]) {
			t.Error("the missing picture did not come back")
		}
	})

	t.Run("ends with its context, leaves whole pictures only, and goes on from there", func(t *testing.T) {
		dir := t.TempDir()
		if err := demo.Ensure(&ending{Context: t.Context(), left: 7}, dir); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's end", err)
		}
		partly, err := readAll(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(partly) == 0 || len(partly) > 4 {
			t.Errorf("%d files, want those of the few pictures before the end", len(partly))
		}
		for name, body := range partly {
			if !bytes.Equal(body, first[name]) {
				t.Errorf("%s is not whole", name)
			}
		}
		if err := demo.Ensure(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		whole, err := readAll(dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(names(first), names(whole)); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	})

	t.Run("names the folder's fault", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := demo.Ensure(t.Context(), filepath.Join(file, "demo")); err == nil || !strings.Contains(err.Error(), "demo folder") {
			t.Errorf("got %v, want an error about the demo folder", err)
		}
	})
}

func TestPictures(t *testing.T) {
	files := set(t)
	total := 0
	for _, p := range demo.Pictures() {
		total += len(files[p.Key])
		if p.Title == "" || p.Note == "" {
			t.Errorf("%s has no title or no note", p.Key)
		}
		if strings.HasSuffix(p.Key, ".svg") {
			continue
		}
		t.Run(p.Key+" decodes whole and is not one colour", func(t *testing.T) {
			img, _, err := image.Decode(bytes.NewReader(files[p.Key]))
			if err != nil {
				t.Fatal(err)
			}
			seen := map[color.Color]bool{}
			b := img.Bounds()
			for y := b.Min.Y; y < b.Max.Y; y += 17 {
				for x := b.Min.X; x < b.Max.X; x += 17 {
					seen[img.At(x, y)] = true
				}
			}
			if len(seen) < 8 {
				t.Errorf("only %d colours", len(seen))
			}
		})
	}
	if total > 6<<20 {
		t.Errorf("the set takes %d bytes, more than 6 MiB", total)
	}
}

func TestKinds(t *testing.T) {
	files := set(t)

	t.Run("the sideways picture is stored turned, with EXIF orientation 6", func(t *testing.T) {
		body := files["dunes-sideways.jpg"]
		config, _, err := image.DecodeConfig(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if config.Width <= config.Height {
			t.Errorf("stored %dx%d, want it lying", config.Width, config.Height)
		}
		want := append([]byte("Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00"), 0, 0, 0, 0)
		if !bytes.Equal(body[6:6+len(want)], want) {
			t.Errorf("the EXIF block is % x", body[6:6+len(want)])
		}
	})

	t.Run("the balloon has clear, half clear and solid places", func(t *testing.T) {
		img, err := png.Decode(bytes.NewReader(files["balloon.png"]))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			x, y      int
			low, high uint32
		}{{5, 5, 0, 0}, {500, 1236, 0x1000, 0xe000}, {500, 400, 0xffff, 0xffff}} {
			if _, _, _, a := img.At(c.x, c.y).RGBA(); a < c.low || a > c.high {
				t.Errorf("alpha at %d,%d is %#x, want %#x to %#x", c.x, c.y, a, c.low, c.high)
			}
		}
	})

	t.Run("the aurora has 16 bits a channel and uses them", func(t *testing.T) {
		img, err := png.Decode(bytes.NewReader(files["aurora-16bit.png"]))
		if err != nil {
			t.Fatal(err)
		}
		deep, ok := img.(*image.RGBA64)
		if !ok {
			t.Fatalf("decodes to %T", img)
		}
		fine := 0
		for x := range deep.Rect.Dx() {
			if c := deep.RGBA64At(x, 200); c.G>>8 != c.G&255 { // not eight bits spread over sixteen
				fine++
			}
		}
		if fine < deep.Rect.Dx()*9/10 {
			t.Errorf("only %d of %d pixels need more than eight bits", fine, deep.Rect.Dx())
		}
	})

	t.Run("the river chart is on a palette", func(t *testing.T) {
		config, err := png.DecodeConfig(bytes.NewReader(files["river-level.png"]))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := config.ColorModel.(color.Palette); !ok {
			t.Errorf("its colours are %T", config.ColorModel)
		}
	})

	t.Run("the orbit moves for ever, each frame cleared before the next", func(t *testing.T) {
		g, err := gif.DecodeAll(bytes.NewReader(files["orbit.gif"]))
		if err != nil {
			t.Fatal(err)
		}
		if len(g.Image) < 24 || g.LoopCount != 0 {
			t.Errorf("%d frames, loop count %d", len(g.Image), g.LoopCount)
		}
		partial := false
		for i := range g.Image {
			if g.Disposal[i] != gif.DisposalBackground || g.Delay[i] < 2 {
				t.Fatalf("frame %d: disposal %d, delay %d", i, g.Disposal[i], g.Delay[i])
			}
			partial = partial || g.Image[i].Rect != image.Rect(0, 0, g.Config.Width, g.Config.Height)
		}
		if !partial {
			t.Error("every frame covers the whole canvas, so offsets are not shown")
		}
	})

	t.Run("the weir is well-formed and refers to nothing outside", func(t *testing.T) {
		d := xml.NewDecoder(bytes.NewReader(files["weir.svg"]))
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			for _, a := range e.Attr {
				if a.Name.Local == "href" || (a.Name.Local != "xmlns" && strings.Contains(a.Value, "//")) {
					t.Errorf("%s refers to %s", e.Name.Local, a.Value)
				}
			}
		}
	})
}

// BenchmarkEnsure is what the first start of `spillway up` pays.
func BenchmarkEnsure(b *testing.B) {
	for b.Loop() {
		if err := demo.Ensure(b.Context(), b.TempDir()); err != nil {
			b.Fatal(err)
		}
	}
}
