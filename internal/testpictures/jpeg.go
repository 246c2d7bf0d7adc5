package testpictures

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
	"slices"
)

// Segment is one JPEG marker segment: the marker's second byte and what it
// carries, without the length.
type Segment struct {
	Marker byte
	Data   []byte
}

// JPEG encodes img (grey when it is an *image.Gray) with segments put right
// after the start of the image.
func JPEG(img image.Image, quality int, segments ...Segment) []byte {
	var buf bytes.Buffer
	must(jpeg.Encode(&buf, img, &jpeg.Options{Quality: quality}))
	return InsertSegments(buf.Bytes(), segments...)
}

// InsertSegments puts segments behind the first two bytes of a JPEG.
func InsertSegments(file []byte, segments ...Segment) []byte {
	out := slices.Clone(file[:2])
	for _, s := range segments {
		out = appendSegment(out, s.Marker, s.Data)
	}
	return append(out, file[2:]...)
}

func appendSegment(out []byte, marker byte, data []byte) []byte {
	out = append(out, 0xff, marker)
	out = binary.BigEndian.AppendUint16(out, uint16(len(data)+2))
	return append(out, data...)
}

// EXIFSegment is the APP1 segment of an EXIF block.
func EXIFSegment(block []byte) Segment {
	return Segment{0xe1, append([]byte("Exif\x00\x00"), block...)}
}

// XMPSegment is the APP1 segment of an XMP packet with a rights statement.
func XMPSegment(rights string) Segment {
	packet := `<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">` +
		`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" ` +
		`xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:rights><rdf:Alt><rdf:li xml:lang="x-default">` +
		rights + `</rdf:li></rdf:Alt></dc:rights></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`
	return Segment{0xe1, []byte("http://ns.adobe.com/xap/1.0/\x00" + packet)}
}

// CommentSegment is a COM segment.
func CommentSegment(text string) Segment { return Segment{0xfe, []byte(text)} }

// ICCSegments splits a profile over APP2 segments of at most part bytes each
// (ICC.1, annex B.4); part 0 takes the largest that fits.
func ICCSegments(profile []byte, part int) []Segment {
	if part <= 0 {
		part = 65519
	}
	count := (len(profile) + part - 1) / part
	var out []Segment
	for i := range count {
		data := append([]byte("ICC_PROFILE\x00"), byte(i+1), byte(count))
		data = append(data, profile[i*part:min((i+1)*part, len(profile))]...)
		out = append(out, Segment{0xe2, data})
	}
	return out
}

// Oriented is the scene as a JPEG that is stored turned as the EXIF
// orientation says, and so looks the same for all eight.
func Oriented(w, h, orientation int, bigEndian bool) []byte {
	block := EXIF{BigEndian: bigEndian, Orientation: orientation}.Bytes()
	return JPEG(Stored(Scene(w, h), orientation), 92, EXIFSegment(block))
}

// Grey is the scene in shades of grey.
func Grey(w, h int) *image.Gray {
	scene := Scene(w, h)
	out := image.NewGray(scene.Rect)
	for y := range h {
		for x := range w {
			out.Set(x, y, scene.NRGBAAt(x, y))
		}
	}
	return out
}

func must(err error) {
	if err != nil {
		panic("testpictures: " + err.Error())
	}
}
