package media

import (
	"bytes"
	"encoding/binary"
)

// JPEG markers, ITU T.81 table B.1.
const (
	markerTEM  = 0x01
	markerRST0 = 0xd0
	markerRST7 = 0xd7
	markerSOI  = 0xd8
	markerEOI  = 0xd9
	markerSOS  = 0xda
)

// examineJPEG walks the markers of the first picture. What follows its end is
// not looked at: gain maps, further pictures (MPO) and appended files.
func examineJPEG(src []byte, limits Limits) (Findings, error) {
	var found Findings
	if len(src) < 2 || src[0] != 0xff || src[1] != markerSOI {
		return found, broken(JPEG, "it does not begin with a start marker")
	}
	walk := jpegWalk{limits: limits}
	for at := 2; ; {
		marker, next := nextMarker(src, at)
		if next < 0 {
			return found, truncated(JPEG, len(src))
		}
		at = next
		if marker == markerEOI {
			break
		}
		if marker == markerSOI || marker == markerTEM || marker >= markerRST0 && marker <= markerRST7 {
			continue // these have no body
		}
		body, ok := segment(src, at)
		if !ok {
			return found, truncated(JPEG, len(src))
		}
		at += 2 + len(body)
		if err := walk.visit(marker, body, &found); err != nil {
			return found, err
		}
	}
	if walk.scans == 0 {
		return found, broken(JPEG, "it holds no picture data")
	}
	return found, nil
}

// jpegWalk counts what the walk has passed.
type jpegWalk struct {
	limits        Limits
	frames, scans int
}

func (w *jpegWalk) visit(marker byte, body []byte, found *Findings) error {
	switch {
	case isFrameMarker(marker) && w.frames > 0:
		return broken(JPEG, "it has two frame headers")
	case isFrameMarker(marker):
		w.frames++
		return found.jpegFrame(body, w.limits)
	case marker == markerSOS && w.frames == 0:
		return broken(JPEG, "a scan comes before the frame header")
	case marker == markerSOS:
		w.scans++
	}
	if w.scans > w.limits.JPEGScans {
		return Errorf(CodeScans, "The jpeg file has more than %d scans.", w.limits.JPEGScans)
	}
	return nil
}

// nextMarker finds the next marker from at and gives it with the position
// behind it; -1 at the end of the file. Whatever stands before it is skipped:
// entropy-coded data with its stuffed zeros, fill bytes, or garbage, which
// decoders skip as well.
func nextMarker(src []byte, at int) (marker byte, next int) {
	for {
		skip := bytes.IndexByte(src[at:], 0xff)
		if skip < 0 {
			return 0, -1
		}
		at += skip + 1
		for at < len(src) && src[at] == 0xff {
			at++
		}
		if at >= len(src) {
			return 0, -1
		}
		if src[at] != 0 {
			return src[at], at + 1
		}
		at++
	}
}

// segment gives the body behind the two length bytes at at.
func segment(src []byte, at int) (body []byte, ok bool) {
	if at+2 > len(src) {
		return nil, false
	}
	length := int(binary.BigEndian.Uint16(src[at:]))
	if length < 2 || at+length > len(src) {
		return nil, false
	}
	return src[at+2 : at+length], true
}

// isFrameMarker tells SOF0 to SOF15 from DHT, JPG and DAC among them.
func isFrameMarker(marker byte) bool {
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
}

// jpegFrame reads a frame header.
func (f *Findings) jpegFrame(body []byte, limits Limits) error {
	if len(body) < 6 {
		return broken(JPEG, "its frame header is too short")
	}
	height := int(binary.BigEndian.Uint16(body[1:]))
	width := int(binary.BigEndian.Uint16(body[3:]))
	components := int(body[5])
	if width == 0 || height == 0 || components == 0 || len(body) < 6+3*components {
		return broken(JPEG, "its frame header has no size or no components")
	}
	if components == 3 {
		luma, blue, red := body[7], body[10], body[13]
		f.Subsampled = luma == 0x22 && blue == 0x11 && red == 0x11
	}
	f.Frames = 1
	return f.seen(width, height, limits)
}
