package testpictures

import (
	"encoding/binary"
	"image"
)

// TIFF writes the scene uncompressed, with an orientation, one strip a page;
// every page after the first is darker by half.
func TIFF(w, h, orientation, pages int) []byte {
	order := binary.LittleEndian
	out := order.AppendUint32([]byte("II*\x00"), 8)
	img := Stored(Scene(w, h), orientation)
	for page := range pages {
		pixels := rgbOf(img, page)
		base := uint32(len(out))
		ifd := tiffDirectory(img.Rect, orientation, base, len(pixels))
		next := base + uint32(len(ifd)+len(pixels))
		if page < pages-1 {
			order.PutUint32(ifd[2+12*int(order.Uint16(ifd)):], next)
		}
		out = append(append(out, ifd...), pixels...)
	}
	return out
}

// tiffDirectory describes a strip that follows the directory at once.
func tiffDirectory(size image.Rectangle, orientation int, base uint32, strip int) []byte {
	order := binary.LittleEndian
	short := func(id uint16, v ...int) tag {
		var data []byte
		for _, v := range v {
			data = order.AppendUint16(data, uint16(v))
		}
		return tag{id, kindShort, uint32(len(v)), data}
	}
	long := func(id uint16, v uint32) tag { return tag{id, kindLong, 1, order.AppendUint32(nil, v)} }
	tags := []tag{
		long(256, uint32(size.Dx())), long(257, uint32(size.Dy())), short(258, 8, 8, 8),
		short(259, 1), short(262, 2), long(273, 0), short(274, orientation), short(277, 3),
		long(278, uint32(size.Dy())), long(279, uint32(strip)), short(284, 1),
	}
	length := len(directory(order, base, tags))
	tags[5] = long(273, base+uint32(length))
	return directory(order, base, tags)
}

// rgbOf drops alpha and halves the light once for each page.
func rgbOf(img *image.NRGBA, page int) []byte {
	out := make([]byte, 0, len(img.Pix)/4*3)
	for i := 0; i < len(img.Pix); i += 4 {
		out = append(out, img.Pix[i]>>page, img.Pix[i+1]>>page, img.Pix[i+2]>>page)
	}
	if len(out)%2 == 1 {
		out = append(out, 0)
	}
	return out
}

// GiantTIFF claims w x h pixels in one strip of a few bytes.
func GiantTIFF(w, h int) []byte {
	out := binary.LittleEndian.AppendUint32([]byte("II*\x00"), 8)
	out = append(out, tiffDirectory(image.Rect(0, 0, w, h), 1, 8, 64)...)
	return append(out, make([]byte, 64)...)
}
