package conformance_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/spillway-media/spillway/internal/testpictures"
)

// jpegSegments gives the marker segments of a JPEG up to its first scan.
func jpegSegments(file []byte) map[byte][][]byte {
	out := map[byte][][]byte{}
	for at := 2; at+4 <= len(file) && file[at] == 0xff && file[at+1] != 0xda; {
		n := int(binary.BigEndian.Uint16(file[at+2:]))
		end := min(at+2+n, len(file))
		out[file[at+1]] = append(out[file[at+1]], file[at+4:end])
		at = end
	}
	return out
}

// orientationTag is the EXIF orientation of a JPEG, 0 when it has none.
func orientationTag(file []byte) int {
	for _, s := range jpegSegments(file)[0xe1] {
		block, found := bytes.CutPrefix(s, []byte("Exif\x00\x00"))
		if !found || len(block) < 10 {
			continue
		}
		order := binary.ByteOrder(binary.LittleEndian)
		if block[0] == 'M' {
			order = binary.BigEndian
		}
		at := int(order.Uint32(block[4:]))
		if at+2 > len(block) {
			continue
		}
		for i := range int(order.Uint16(block[at:])) {
			entry := block[min(at+2+12*i, len(block)):]
			if len(entry) >= 12 && order.Uint16(entry) == 0x0112 {
				return int(order.Uint16(entry[8:]))
			}
		}
	}
	return 0
}

// TestMetadata looks for what identifies a person or a place, and for what a
// client asked to keep.
func TestMetadata(t *testing.T) {
	exif := testpictures.EXIF{Orientation: 6, Artist: "Ada Example", Copyright: "(c) Example Press", Latitude: 52, Longitude: 13}.Bytes()
	segments := []testpictures.Segment{
		testpictures.EXIFSegment(exif), testpictures.XMPSegment("(c) Example Rights"), testpictures.CommentSegment("made by hand"),
	}
	segments = append(segments, testpictures.ICCSegments(testpictures.WideGamutProfile(), 0)...)
	stored := testpictures.Stored(testpictures.Scene(90, 60), 6)
	s := start(t, withFile(t, "in.jpg", testpictures.JPEG(stored, 90, segments...)))
	// A GPS directory is told by its pointer, little-endian as we wrote it.
	gps := []byte{0x25, 0x88, 0x04, 0x00}
	for _, tt := range []struct {
		name, query string
		has, gone   []string
	}{
		{"nothing is kept by default", "", nil, []string{"Ada", "Press", "Rights", "by hand", string(gps), "Exif\x00"}},
		{"strip=true keeps nothing", "strip=true", nil, []string{"Ada", "Press", "Rights", "Exif\x00"}},
		{"keep=copyright keeps the statement and no place", "keep=copyright", []string{"Example Press"}, []string{string(gps), "by hand"}},
		{"keep=exif keeps the whole block", "keep=exif", []string{"Ada Example", "Example Press"}, nil},
		{"keep=icc keeps a profile", "keep=icc", []string{"ICC_PROFILE"}, []string{"Ada", string(gps)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := s.good(t, "/assets/in.jpg?format=jpeg&sizes=60x0&"+tt.query).body
			for _, want := range tt.has {
				if !bytes.Contains(file, []byte(want)) {
					t.Errorf("%q is gone", want)
				}
			}
			for _, banned := range tt.gone {
				if bytes.Contains(file, []byte(banned)) {
					t.Errorf("%q is still there", banned)
				}
			}
			if o := orientationTag(file); o > 1 {
				t.Errorf("the pixels are upright, but the answer says orientation %d", o)
			}
			if got := mustDecode(t, file); got.size() != "60x40" {
				t.Errorf("size %s, want 60x40", got.size())
			}
		})
	}
}

// TestStrippedAnswersHoldNoMetadata looks at every format: what an encoder
// makes up by itself is metadata too.
func TestStrippedAnswersHoldNoMetadata(t *testing.T) {
	exif := testpictures.EXIF{Orientation: 6, Artist: "Ada Example", Latitude: 52, Longitude: 13}.Bytes()
	stored := testpictures.Stored(testpictures.Scene(90, 60), 6)
	s := start(t, withFile(t, "in.jpg", testpictures.JPEG(stored, 90, testpictures.EXIFSegment(exif), testpictures.XMPSegment("rights"))))
	for _, format := range []string{"jpeg", "png", "webp", "gif", "avif", "jxl"} {
		t.Run("as "+format, func(t *testing.T) {
			got := s.get(t, "/assets/in.jpg?sizes=60x0&format="+format)
			if got.code() == "unsupported-output" {
				return
			}
			for _, banned := range []string{"EXIF", "Exif", "eXIf", "xmpmeta", "XMP ", "Ada"} {
				if bytes.Contains(got.body, []byte(banned)) {
					t.Errorf("%q is in the %d bytes of the answer", banned, len(got.body))
				}
			}
		})
	}
}

// TestStrippedAnimationsHoldNoMetadata is the same for several frames.
func TestStrippedAnimationsHoldNoMetadata(t *testing.T) {
	s := start(t, withFile(t, "in.gif", testpictures.Disposals(64, 64)["mixed"].Bytes()))
	for _, format := range []string{"gif", "webp"} {
		got := s.good(t, "/assets/in.gif?format="+format)
		for _, banned := range []string{"EXIF", "Exif", "XMP", "gif-"} {
			if bytes.Contains(got.body, []byte(banned)) {
				t.Errorf("%s: %q is in the answer", format, banned)
			}
		}
	}
}
