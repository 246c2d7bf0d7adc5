package testpictures

import (
	"encoding/binary"
	"image"
	"strings"
)

// EXIF is the metadata block of a camera. Zero fields are left out.
type EXIF struct {
	BigEndian   bool // "MM" byte order; "II" otherwise
	Orientation int
	Artist      string
	Copyright   string
	// Latitude and Longitude in whole degrees, north and east; both zero
	// writes no GPS directory.
	Latitude, Longitude uint32
}

// tag is one entry of an image file directory; data of up to four bytes lies
// in the entry itself (TIFF 6.0, section 2).
type tag struct {
	id, kind uint16
	count    uint32
	data     []byte
}

const (
	kindASCII    = 2
	kindShort    = 3
	kindLong     = 4
	kindRational = 5
)

// Bytes is the block as a TIFF structure, without the "Exif" mark that JPEG
// puts before it.
func (e EXIF) Bytes() []byte {
	order := binary.AppendByteOrder(binary.LittleEndian)
	head := "II"
	if e.BigEndian {
		order, head = binary.BigEndian, "MM"
	}
	out := order.AppendUint16([]byte(head), 42)
	out = order.AppendUint32(out, 8)
	tags := e.mainTags(order)
	if e.Latitude == 0 && e.Longitude == 0 {
		return append(out, directory(order, 8, tags)...)
	}
	// The pointer's value depends only on the length, which it does not change.
	tags = append(tags, tag{0x8825, kindLong, 1, order.AppendUint32(nil, 0)})
	at := uint32(8 + len(directory(order, 8, tags)))
	tags[len(tags)-1].data = order.AppendUint32(nil, at)
	out = append(out, directory(order, 8, tags)...)
	return append(out, directory(order, at, e.gpsTags(order))...)
}

func (e EXIF) mainTags(order binary.AppendByteOrder) []tag {
	var tags []tag
	if e.Orientation != 0 {
		tags = append(tags, tag{0x0112, kindShort, 1, order.AppendUint16(nil, uint16(e.Orientation))})
	}
	if e.Artist != "" {
		tags = append(tags, asciiTag(0x013b, e.Artist))
	}
	if e.Copyright != "" {
		tags = append(tags, asciiTag(0x8298, e.Copyright))
	}
	return tags
}

func (e EXIF) gpsTags(order binary.AppendByteOrder) []tag {
	degrees := func(whole uint32) []byte {
		var b []byte
		for _, v := range []uint32{whole, 1, 30, 1, 15, 1} {
			b = order.AppendUint32(b, v)
		}
		return b
	}
	return []tag{
		{0x0000, 1, 4, []byte{2, 3, 0, 0}},
		asciiTag(0x0001, "N"), {0x0002, kindRational, 3, degrees(e.Latitude)},
		asciiTag(0x0003, "E"), {0x0004, kindRational, 3, degrees(e.Longitude)},
	}
}

func asciiTag(id uint16, text string) tag {
	return tag{id, kindASCII, uint32(len(text) + 1), append([]byte(text), 0)}
}

// directory lays out one image file directory that begins at offset base.
func directory(order binary.AppendByteOrder, base uint32, tags []tag) []byte {
	out := order.AppendUint16(nil, uint16(len(tags)))
	var outside []byte
	at := base + 2 + 12*uint32(len(tags)) + 4
	for _, t := range tags {
		out = order.AppendUint16(out, t.id)
		out = order.AppendUint16(out, t.kind)
		out = order.AppendUint32(out, t.count)
		if len(t.data) <= 4 {
			out = append(out, t.data...)
			out = append(out, make([]byte, 4-len(t.data))...)
			continue
		}
		out = order.AppendUint32(out, at+uint32(len(outside)))
		outside = append(outside, t.data...)
		if len(outside)%2 == 1 {
			outside = append(outside, 0)
		}
	}
	out = order.AppendUint32(out, 0)
	return append(out, outside...)
}

// BrokenEXIF is a block whose directory claims more entries than there are
// bytes and whose one value lies far behind the end.
func BrokenEXIF() []byte {
	out := []byte("II*\x00\x08\x00\x00\x00")
	out = append(out, 0xff, 0xff)
	out = append(out, []byte{0x12, 0x01, 3, 0, 0xff, 0xff, 0xff, 0xff, 0xf0, 0xff, 0xff, 0xff}...)
	return append(out, []byte(strings.Repeat("\xff", 40))...)
}

// Stored turns an upright picture into the one that a file with this EXIF
// orientation (1 to 8) must hold so that a viewer sees the upright one.
func Stored(upright *image.NRGBA, orientation int) *image.NRGBA {
	w, h := upright.Rect.Dx(), upright.Rect.Dy()
	sw, sh := w, h
	if orientation >= 5 && orientation <= 8 {
		sw, sh = h, w
	}
	out := image.NewNRGBA(image.Rect(0, 0, sw, sh))
	for y := range h {
		for x := range w {
			sx, sy := storedAt(orientation, x, y, sw, sh)
			out.SetNRGBA(sx, sy, upright.NRGBAAt(x, y))
		}
	}
	return out
}

// storedAt is where the pixel seen at x, y lies in a stored picture of sw x sh
// (EXIF 2.32, 4.6.4 A, tag Orientation).
func storedAt(orientation, x, y, sw, sh int) (int, int) {
	switch orientation {
	case 2:
		return sw - 1 - x, y
	case 3:
		return sw - 1 - x, sh - 1 - y
	case 4:
		return x, sh - 1 - y
	case 5:
		return y, x
	case 6:
		return y, sh - 1 - x
	case 7:
		return sw - 1 - y, sh - 1 - x
	case 8:
		return sw - 1 - y, x
	}
	return x, y
}
