package vips

import (
	"bytes"
	"image"
	"image/draw"

	"golang.org/x/image/bmp"

	"github.com/spillway-media/spillway/internal/media"
)

// BMP has no loader in libvips but the one of ImageMagick, which is never
// used; the pure decoder of golang.org/x/image reads what matters of it.

// probeBMP reads the header.
func probeBMP(src []byte) (media.Info, error) {
	config, err := bmp.DecodeConfig(bytes.NewReader(src))
	if err != nil {
		return media.Info{}, brokenBMP(err)
	}
	depth := int(src[28]) | int(src[29])<<8
	return media.Info{
		Format: media.BMP, Width: config.Width, Height: config.Height, Orientation: 1, Frames: 1,
		Bands: 4, BitDepth: min(max(depth, 1), 8), Colourspace: "srgb", Alpha: depth == 32,
	}, nil
}

// decodeBMP gives rows of RGBA. The size was held against the limits when
// info was made.
func decodeBMP(src []byte, info media.Info) (pixels []byte, width, height int, err error) {
	decoded, err := bmp.Decode(bytes.NewReader(src))
	if err != nil {
		return nil, 0, 0, brokenBMP(err)
	}
	bounds := decoded.Bounds()
	if bounds.Dx() != info.Width || bounds.Dy() != info.Height {
		return nil, 0, 0, media.Errorf(media.CodeDecodeFailed, "The picture is not of the size that its header names.")
	}
	out := image.NewNRGBA(image.Rect(0, 0, bounds.Dx(), bounds.Dy()))
	draw.Draw(out, out.Bounds(), decoded, bounds.Min, draw.Src)
	return out.Pix, bounds.Dx(), bounds.Dy(), nil
}

func brokenBMP(cause error) error {
	return media.Wrap(media.CodeDecodeFailed, cause, "The picture cannot be decoded: it is broken or of a rare kind of BMP.")
}
