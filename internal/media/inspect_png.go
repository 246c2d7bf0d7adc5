package media

import (
	"bytes"
	"encoding/binary"
)

const pngSignature = "\x89PNG\r\n\x1a\n"

// examinePNG walks the chunks. Checksums are left to the decoder; what follows
// the end chunk is not looked at.
func examinePNG(src []byte, limits Limits) (Findings, error) {
	var found Findings
	if !bytes.HasPrefix(src, []byte(pngSignature)) {
		return found, broken(PNG, "it does not begin with a PNG signature")
	}
	data := false
	for at := len(pngSignature); ; {
		if at+12 > len(src) {
			return found, truncated(PNG, len(src))
		}
		length := int64(binary.BigEndian.Uint32(src[at:]))
		kind := string(src[at+4 : at+8])
		first := found.Width == 0
		if first != (kind == "IHDR") {
			return found, broken(PNG, "it has no header, or two")
		}
		if int64(at)+12+length > int64(len(src)) {
			return found, truncated(PNG, len(src))
		}
		body := src[at+8 : at+8+int(length)]
		at += 12 + int(length)
		switch kind {
		case "IHDR":
			if err := found.pngHeader(body, limits); err != nil {
				return found, err
			}
		case "IDAT":
			data = true
		case "IEND":
			if !data {
				return found, broken(PNG, "it holds no picture data")
			}
			return found, nil
		case "iCCP", "zTXt", "iTXt":
			size, err := inflatedSize(pngCompressed(kind, body), limits.Metadata-found.Metadata)
			if err != nil {
				return found, Errorf(CodeMetadata, "The profile and text of the png file hold more than %d bytes.", limits.Metadata)
			}
			found.Metadata += size
		}
	}
}

// pngHeader checks IHDR: PNG specification, 11.2.1.
func (f *Findings) pngHeader(body []byte, limits Limits) error {
	if len(body) != 13 {
		return broken(PNG, "its header has the wrong length")
	}
	width, height := binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
	if width == 0 || height == 0 || width > 1<<31-1 || height > 1<<31-1 {
		return broken(PNG, "its size is zero or beyond what PNG allows")
	}
	depth, colour, interlace := body[8], body[9], body[12]
	if !pngDepthAllowed(colour, depth) || interlace > 1 {
		return broken(PNG, "its header names a colour type, depth or interlacing that PNG does not have")
	}
	f.Frames = 1
	return f.seen(int(width), int(height), limits)
}

func pngDepthAllowed(colour, depth byte) bool {
	switch colour {
	case 0: // grey
		return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16
	case 3: // palette
		return depth == 1 || depth == 2 || depth == 4 || depth == 8
	case 2, 4, 6: // RGB, grey with alpha, RGB with alpha
		return depth == 8 || depth == 16
	}
	return false
}

// pngCompressed cuts the zlib stream out of a chunk; empty where there is none.
func pngCompressed(kind string, body []byte) []byte {
	keyword := bytes.IndexByte(body, 0)
	if keyword < 0 || keyword+2 > len(body) {
		return nil
	}
	rest := body[keyword+1:]
	if kind != "iTXt" {
		return rest[1:] // behind the method
	}
	if len(rest) < 2 || rest[0] == 0 {
		return nil // not compressed
	}
	rest = rest[2:]
	for range 2 { // language tag and translated keyword
		end := bytes.IndexByte(rest, 0)
		if end < 0 {
			return nil
		}
		rest = rest[end+1:]
	}
	return rest
}
