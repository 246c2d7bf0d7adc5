package demo

import (
	"encoding/binary"
	"image"
)

// withOrientation inserts an APP1 segment with the one EXIF tag right behind
// the start marker of a JPEG (EXIF 2.32, section 4.5 and 4.6.2).
func withOrientation(jpeg []byte, value uint16) []byte {
	tiff := []byte("II*\x00")
	tiff = binary.LittleEndian.AppendUint32(tiff, 8) // offset of IFD 0
	tiff = binary.LittleEndian.AppendUint16(tiff, 1) // entries
	tiff = binary.LittleEndian.AppendUint16(tiff, 0x0112)
	tiff = binary.LittleEndian.AppendUint16(tiff, 3) // SHORT
	tiff = binary.LittleEndian.AppendUint32(tiff, 1) // count
	tiff = binary.LittleEndian.AppendUint32(tiff, uint32(value))
	tiff = binary.LittleEndian.AppendUint32(tiff, 0) // no further IFD

	body := append([]byte("Exif\x00\x00"), tiff...)
	out := append([]byte(nil), jpeg[:2]...)
	out = append(out, 0xff, 0xe1)
	out = binary.BigEndian.AppendUint16(out, uint16(len(body)+2))
	out = append(out, body...)
	return append(out, jpeg[2:]...)
}

// turnLeft turns a picture a quarter against the clock.
func turnLeft(src *image.RGBA) *image.RGBA {
	w, h := src.Bounds().Dx(), src.Bounds().Dy()
	dst := image.NewRGBA(image.Rect(0, 0, h, w))
	for y := range h {
		for x := range w {
			copy(dst.Pix[dst.PixOffset(y, w-1-x):][:4], src.Pix[src.PixOffset(x, y):][:4])
		}
	}
	return dst
}
