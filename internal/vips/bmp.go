package vips

import (
	"bytes"
	"encoding/binary"
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
	info := media.Info{
		Format: media.BMP, Width: config.Width, Height: config.Height, Orientation: 1, Frames: 1,
		Bands: 3, BitDepth: 8, Colourspace: "srgb", Alpha: hasAlphaBMP(src),
	}
	if info.Alpha {
		info.Bands = 4
	}
	return info, nil
}

// hasAlphaBMP tells whether the fourth byte of a pixel means anything: only
// where the header gives channel masks (compression 3 or 6) and one for alpha.
// The masks of an uncompressed file (compression 0) are not valid, as Microsoft
// defines BITMAPV4HEADER and BITMAPV5HEADER, and its fourth byte is reserved.
// The decoder takes any 32-bit file with a large header for one with alpha.
func hasAlphaBMP(src []byte) bool {
	const headerV4 = 108
	if len(src) < 14+headerV4 || binary.LittleEndian.Uint32(src[14:]) < headerV4 {
		return false
	}
	compression := binary.LittleEndian.Uint32(src[30:])
	return (compression == 3 || compression == 6) && binary.LittleEndian.Uint32(src[66:]) != 0
}

func makeOpaque(img *image.NRGBA) {
	for i := 3; i < len(img.Pix); i += 4 {
		img.Pix[i] = 255
	}
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
	out, ok := decoded.(*image.NRGBA)
	if !ok || out.Stride != 4*bounds.Dx() {
		out = image.NewNRGBA(image.Rect(0, 0, bounds.Dx(), bounds.Dy()))
		draw.Draw(out, out.Bounds(), decoded, bounds.Min, draw.Src)
	}
	if !info.Alpha {
		makeOpaque(out)
	}
	return out.Pix, bounds.Dx(), bounds.Dy(), nil
}

func brokenBMP(cause error) error {
	return media.Wrap(media.CodeDecodeFailed, cause, "The picture cannot be decoded: it is broken or of a rare kind of BMP.")
}
