package demo

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"io"
)

// Picture is one of the set.
type Picture struct {
	// Key is its file name, and so its key under the root.
	Key string
	// Title names the picture, Note says in a line what it is good to try.
	Title, Note string
	paint       func(io.Writer) error
}

// Pictures lists the set in the order in which the page shows it.
func Pictures() []Picture { return append([]Picture(nil), pictures...) }

var pictures = []Picture{
	{"mountain-lake.jpg", "Mountain lake", "Haze and soft light: bands when quality is low", asJPEG(mountainLake, 88)},
	{"red-sail.jpg", "Red sail", "The subject is off the middle: compare gravity attention with center", asJPEG(redSail, 88)},
	{"dunes-sideways.jpg", "Sideways dunes", "Stored turned, EXIF orientation 6: must come out upright", asSidewaysJPEG(dunes, 87)},
	{"riverbed.jpg", "Riverbed", "Fine detail everywhere: costly for every encoder", asJPEG(riverbed, 84)},
	{"dew.jpg", "Dew", "Soft discs and a sharp stem: try blur, sharpen and AVIF", asJPEG(dew, 88)},
	{"balloon.png", "Balloon", "Transparent, with a soft shadow: try backgrounds and JPEG", asPNG(balloon)},
	{"aurora-16bit.png", "Aurora", "16 bits a channel, smooth: watch for banding", asPNG(aurora)},
	{"orbit.gif", "Orbit", "40 frames for ever, each cleared before the next: try WebP", orbit},
	{"test-chart.png", "Test chart", "Colour, resolution and edges: shows what resampling does", asPNG(testChart)},
	{"river-level.png", "River level", "Small text on a palette: try lossless WebP against JPEG", asPNG(riverLevel)},
	{"weir.svg", "Weir", "A vector: sharp at any size", weir},
}

func asJPEG(paint func() *image.RGBA, quality int) func(io.Writer) error {
	return func(w io.Writer) error {
		return jpeg.Encode(w, paint(), &jpeg.Options{Quality: quality})
	}
}

// asSidewaysJPEG stores the picture as a phone held upright does: turned a
// quarter to the left, with a tag that asks the viewer to turn it back.
func asSidewaysJPEG(paint func() *image.RGBA, quality int) func(io.Writer) error {
	return func(w io.Writer) error {
		var plain bytes.Buffer
		if err := jpeg.Encode(&plain, turnLeft(paint()), &jpeg.Options{Quality: quality}); err != nil {
			return err
		}
		_, err := w.Write(withOrientation(plain.Bytes(), 6))
		return err
	}
}

func asPNG[T image.Image](paint func() T) func(io.Writer) error {
	return func(w io.Writer) error { return png.Encode(w, paint()) }
}
