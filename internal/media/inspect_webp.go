package media

import "encoding/binary"

// examineWebP walks the RIFF chunks: developers.google.com/speed/webp/docs/riff_container.
func examineWebP(src []byte, limits Limits) (Findings, error) {
	var found Findings
	if len(src) < 20 || string(src[:4]) != "RIFF" || string(src[8:12]) != "WEBP" {
		return found, broken(WebP, "it does not begin with a WebP header")
	}
	end := int64(binary.LittleEndian.Uint32(src[4:])) + 8
	if end > int64(len(src))+1 { // some writers leave the last pad byte out
		return found, truncated(WebP, len(src))
	}
	end = min(end, int64(len(src)))
	data := false
	for at := 12; int64(at)+8 <= end; {
		kind, size := string(src[at:at+4]), int64(binary.LittleEndian.Uint32(src[at+4:]))
		if int64(at)+8+size > end {
			return found, truncated(WebP, len(src))
		}
		body := src[at+8 : at+8+int(size)]
		at += 8 + int(size) + int(size&1)
		picture, err := found.webpChunk(kind, body, limits)
		if err != nil {
			return found, err
		}
		data = data || picture
		if found.Frames > limits.Frames {
			return found, Errorf(CodeFrames, "The webp file has more than %d frames.", limits.Frames)
		}
	}
	if !data {
		return found, broken(WebP, "it holds no picture data")
	}
	return found, checkPixels(found.Width, found.Height, max(found.Frames, 1), limits.Pixels)
}

// webpChunk reads one chunk; picture is true when it holds picture data.
func (f *Findings) webpChunk(kind string, body []byte, limits Limits) (picture bool, err error) {
	switch kind {
	case "VP8X":
		if len(body) < 10 {
			return false, broken(WebP, "its header is too short")
		}
		return false, f.seen(uint24(body[4:])+1, uint24(body[7:])+1, limits)
	case "ANMF":
		if len(body) < 24 {
			return false, broken(WebP, "a frame is too short")
		}
		f.Frames++
		return true, f.seen(uint24(body[6:])+1, uint24(body[9:])+1, limits)
	case "VP8 ":
		if len(body) < 10 || body[3] != 0x9d || body[4] != 0x01 || body[5] != 0x2a {
			return true, broken(WebP, "its picture data does not begin as such")
		}
		width := int(binary.LittleEndian.Uint16(body[6:]) & 0x3fff)
		height := int(binary.LittleEndian.Uint16(body[8:]) & 0x3fff)
		if width == 0 || height == 0 {
			return true, broken(WebP, "it has no size")
		}
		return true, f.seen(width, height, limits)
	case "VP8L":
		if len(body) < 5 || body[0] != 0x2f {
			return true, broken(WebP, "its picture data does not begin as such")
		}
		bits := binary.LittleEndian.Uint32(body[1:])
		f.Lossless = true
		return true, f.seen(int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1, limits)
	}
	return false, nil
}

func uint24(b []byte) int {
	return int(b[0]) | int(b[1])<<8 | int(b[2])<<16
}
