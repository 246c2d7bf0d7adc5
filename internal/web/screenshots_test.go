package web_test

import (
	"bytes"
	"flag"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/spillway-media/spillway/internal/browser"
	"github.com/spillway-media/spillway/internal/browser/browsertest"
)

// screenshotsTo is where the pictures of docs/ are written anew, by
// scripts/screenshots.sh; without it they are taken and only checked.
var screenshotsTo = flag.String("screenshots", "", "the folder to write the playground's pictures to")

// maxScreenshot keeps what every clone of the repository carries small.
const maxScreenshot = 400_000

func TestScreenshots(t *testing.T) {
	dir := *screenshotsTo
	if dir == "" {
		dir = t.TempDir()
	}
	base := startProgram(t)
	b := browsertest.Start(t, browser.Options{})
	for _, c := range []struct {
		name, hash string
		on         browser.Screen
		wipe       string
	}{
		{"playground-desktop", "#key=mountain-lake.jpg&w=680&h=384&fit=cover&gravity=focal&fx=0.62&fy=0.34&format=webp&quality=59&view=compare",
			browser.Screen{Width: 1280, Height: 800, Still: true}, "330"},
		{"playground-dark", "#key=balloon.png&w=294&format=webp&quality=59&snippet=curl", browser.Screen{Width: 1280, Height: 800, Dark: true, Still: true}, ""},
		{"playground-phone", "#key=dunes-sideways.jpg&w=240&dpr=2&format=webp&quality=59", browser.Screen{Width: 390, Height: 844, Scale: 2, Phone: true, Still: true}, ""},
	} {
		t.Run(c.name+" is whole, drawn and small", func(t *testing.T) {
			p := open(t, b, c.on)
			p.visit(base + "/" + c.hash)
			p.size("w > 0")
			p.wait(`[...document.querySelectorAll("#strip img, #finder-img")].every((i) => i.naturalWidth > 0 || i.getBoundingClientRect().left > innerWidth) && document.getElementById("source").textContent`)
			// Asked again when all else is there, so that its time is its own.
			p.set("#quality", "60")
			p.size("w > 0")
			if c.wipe != "" {
				p.wait(`!document.getElementById("wipe").hidden`)
				p.set("#wipe", c.wipe)
			}
			p.quiet()
			write(t, filepath.Join(dir, c.name+".png"), p.shot(), c.on)
		})
	}
}

// coarse rounds each channel to a multiple of four, except for the few colours
// that the page itself is made of. Nobody sees that in photographs, and their
// grain takes a third fewer bytes.
func coarse(img image.Image) image.Image {
	out := image.NewNRGBA(img.Bounds())
	draw.Draw(out, out.Rect, img, img.Bounds().Min, draw.Src)
	count := map[[4]uint8]int{}
	for i := 0; i < len(out.Pix); i += 4 {
		count[[4]uint8(out.Pix[i:])]++
	}
	for i := 0; i < len(out.Pix); i += 4 {
		if count[[4]uint8(out.Pix[i:])] > len(out.Pix)/4/500 {
			continue
		}
		for j, v := range out.Pix[i : i+3] {
			out.Pix[i+j] = uint8(min((int(v)+2)&^3, 255))
		}
	}
	return out
}

// write packs a screenshot as tightly as PNG does and checks it.
func write(t *testing.T, path string, shot []byte, on browser.Screen) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	scale := max(int(on.Scale), 1)
	if b := img.Bounds(); b.Dx() != on.Width*scale || b.Dy() != on.Height*scale {
		t.Errorf("the picture is %v, want %dx%d", b, on.Width*scale, on.Height*scale)
	}
	seen := map[any]bool{}
	for y := 0; y < img.Bounds().Dy(); y += 5 {
		for x := 0; x < img.Bounds().Dx(); x += 5 {
			seen[img.At(x, y)] = true
		}
	}
	if len(seen) < 200 {
		t.Errorf("the picture has only %d colours: is it drawn?", len(seen))
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, coarse(img)); err != nil {
		t.Fatal(err)
	}
	if out.Len() > maxScreenshot {
		t.Errorf("%s has %d bytes, more than %d", filepath.Base(path), out.Len(), maxScreenshot)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
