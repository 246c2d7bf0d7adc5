package pictures

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"math"

	"github.com/spillway-media/spillway/internal/testpictures"
)

// quality makes a photograph of 12 megapixels 2 to 3 MB large, as cameras do.
const quality = 90

func photo(w, h int) []byte { return testpictures.JPEG(testpictures.Photo(w, h), quality) }

// alphaPNG is a drawing with soft shades, and transparency that fades out
// around it.
func alphaPNG(w, h int) ([]byte, error) {
	img := testpictures.Scene(w, h)
	for y := range h {
		v := 2*float64(y)/float64(h) - 1
		for x := range w {
			u := 2*float64(x)/float64(w) - 1
			img.Pix[y*img.Stride+4*x+3] = uint8(255 * max(0, min(1, 3*(1.05-math.Hypot(u, v)))))
		}
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.DefaultCompression}
	err := encoder.Encode(&out, img)
	return out.Bytes(), err
}

// animation is a camera that pans over a photograph, w x h: every frame is
// new everywhere, and grainy, as in GIFs made from films.
func animation(w, h, frames int) ([]byte, error) {
	const step = 4
	ground := testpictures.Photo(w+step*frames, h)
	colours := cube()
	film := &gif.GIF{}
	for i := range frames {
		frame := image.NewPaletted(image.Rect(0, 0, w, h), colours)
		for y := range h {
			row := ground.Pix[y*ground.Stride+4*step*i:]
			for x := range w {
				frame.Pix[y*frame.Stride+x] = 36*sixth(row[4*x]) + 6*sixth(row[4*x+1]) + sixth(row[4*x+2])
			}
		}
		film.Image, film.Delay = append(film.Image, frame), append(film.Delay, 5)
	}
	var out bytes.Buffer
	err := gif.EncodeAll(&out, film)
	return out.Bytes(), err
}

// cube has six levels of each channel.
func cube() color.Palette {
	var colours color.Palette
	for i := range 216 {
		colours = append(colours, color.NRGBA{uint8(i / 36 * 51), uint8(i / 6 % 6 * 51), uint8(i % 6 * 51), 255})
	}
	return colours
}

// sixth is the nearest of six levels.
func sixth(v uint8) uint8 { return uint8((int(v) + 25) / 51) }
