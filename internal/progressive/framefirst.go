package progressive

import (
	"bytes"
	"fmt"
	"io"
)

// FrameFirst passes a JPEG on with its metadata behind the frame header, where
// decoders read them as well (T.81, B.2.4 has them before the frame or the first
// scan alike). The layout of a page need not wait for a colour profile then.
// EXIF stays in front: its standard has it right behind the start of the file,
// and libexif looks nowhere else. Nothing else changes: no byte is added, dropped
// or altered.
type FrameFirst struct {
	to   io.Writer
	held []byte // all that came before the end of the frame header
	at   int    // of the next marker in it
	free bool   // nothing is held any more
}

// heldLimit is how much is held. A file that has more before its frame header
// is passed on as it is.
const heldLimit = 1 << 20

// NewFrameFirst passes on to w. Close has to be called at the end.
func NewFrameFirst(w io.Writer) *FrameFirst { return &FrameFirst{to: w} }

// Write implements io.Writer. Until the frame header is there it fails only
// later.
func (f *FrameFirst) Write(p []byte) (int, error) {
	if f.free {
		return f.to.Write(p)
	}
	f.held = append(f.held, p...)
	if end, known := f.frameEnd(); known {
		return len(p), f.release(end)
	}
	if len(f.held) > heldLimit {
		return len(p), f.release(0)
	}
	return len(p), nil
}

// Close passes on what is still held, because no frame header came.
func (f *FrameFirst) Close() error {
	if f.free {
		return nil
	}
	return f.release(0)
}

// frameEnd is where the frame header ends, 0 where it is known that none can be
// found.
func (f *FrameFirst) frameEnd() (end int, known bool) {
	if f.at == 0 {
		if len(f.held) < 2 {
			return 0, false
		}
		if f.held[0] != 0xff || f.held[1] != markerSOI {
			return 0, true
		}
		f.at = 2
	}
	for {
		length, ok := f.segment()
		if !ok {
			return 0, length < 0
		}
		code := f.held[f.at+1]
		if f.at += length; isFrame(code) {
			return f.at, true
		}
		if code == markerSOS {
			return 0, true
		}
	}
}

// segment is the length of the one that begins at at, marker included. It is
// false while the segment is not all there; the length is negative then where
// none begins.
func (f *FrameFirst) segment() (length int, ok bool) {
	rest := f.held[f.at:]
	if len(rest) > 0 && rest[0] != 0xff || len(rest) > 1 && (rest[1] < markerSOF0 || rest[1] == 0xff) {
		return -1, false
	}
	if len(rest) < 4 {
		return 0, false
	}
	length = 2 + int(rest[2])<<8 + int(rest[3])
	return length, length >= 4 && len(rest) >= length
}

// release passes on what is held, metadata behind what ends at end.
func (f *FrameFirst) release(end int) error {
	var front, back bytes.Buffer
	front.Grow(len(f.held))
	if end > 0 {
		front.Write(f.held[:2])
	}
	for at := 2; at < end; {
		length := 2 + int(f.held[at+2])<<8 + int(f.held[at+3])
		to := &front
		segment := f.held[at : at+length]
		if isMetadata(segment[1]) && !isEXIF(segment) {
			to = &back
		}
		to.Write(segment)
		at += length
	}
	front.Write(back.Bytes())
	front.Write(f.held[end:])
	f.free, f.held = true, nil
	if _, err := f.to.Write(front.Bytes()); err != nil {
		return fmt.Errorf("pass a frame header on: %w", err)
	}
	return nil
}

func isEXIF(segment []byte) bool {
	return segment[1] == markerAPP0+1 && bytes.HasPrefix(segment[4:], []byte("Exif\x00"))
}

// isMetadata tells segments that a picture looks the same without, for a while.
// JFIF and Adobe's are none: they say how its colours are stored.
func isMetadata(code byte) bool {
	const app0, app14, app15 = markerAPP0, markerAPP0 + 14, markerAPP0 + 15
	return code > app0 && code <= app15 && code != app14 || code == markerCOM
}
