package media

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
)

// pngShown are the chunks that a decoder needs for the pixels.
var pngShown = map[string]bool{"IHDR": true, "PLTE": true, "tRNS": true, "IDAT": true, "IEND": true}

// stripPNG keeps critical chunks and transparency. Colours are taken for sRGB
// by this program, so a file that says otherwise is shown in another way by
// browsers; APNG is shown there as what it is not here, an animation.
func stripPNG(src []byte) ([]byte, bool) {
	out := append(make([]byte, 0, len(src)), pngSignature...)
	for at := len(pngSignature); at+12 <= len(src); {
		length := int64(binary.BigEndian.Uint32(src[at:]))
		if length > int64(len(src)-at-12) {
			return nil, false
		}
		kind, body := string(src[at+4:at+8]), src[at+8:at+8+int(length)]
		end := at + 12 + int(length)
		switch {
		case pngShown[kind]:
			out = append(out, src[at:end]...)
		case !pngIsPlain(kind, body):
			return nil, false
		}
		if kind == "IEND" {
			return out, true
		}
		at = end
	}
	return nil, false
}

// sRGB is what cHRM and gAMA say of it: PNG specification, 11.3.2.
var pngPrimaries = []uint32{31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000}

const pngGamma = 45455

// pngIsPlain tells whether a chunk can go: colours are sRGB without it too, or
// it is ancillary and does not concern them.
func pngIsPlain(kind string, body []byte) bool {
	switch kind {
	case "gAMA":
		return len(body) == 4 && nearly(binary.BigEndian.Uint32(body), pngGamma)
	case "cHRM":
		if len(body) != 4*len(pngPrimaries) {
			return false
		}
		for i, want := range pngPrimaries {
			if !nearly(binary.BigEndian.Uint32(body[4*i:]), want) {
				return false
			}
		}
		return true
	case "iCCP":
		return plainSRGB(inflated(pngCompressed(kind, body), largestProfile))
	case "acTL", "fcTL", "fdAT", "cICP", "mDCv", "mDCV", "cLLi", "cLLI":
		return false
	}
	return kind[0]&0x20 != 0 // the letter is small in ancillary chunks
}

// nearly allows for the rounding of other programs.
func nearly(got, want uint32) bool { return max(got, want)-min(got, want) <= 20 }

// largestProfile is far above any that is plain.
const largestProfile = 64 << 10

// inflated gives what a zlib stream holds, nothing when that is damaged or
// takes limit bytes.
func inflated(b []byte, limit int64) []byte {
	reader, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	plain, err := io.ReadAll(io.LimitReader(reader, limit))
	if err != nil || int64(len(plain)) == limit {
		return nil
	}
	return plain
}

// Flags of VP8X that go with their chunks: profile, EXIF and XMP.
const webpMetadata = 0x20 | 0x08 | 0x04

// stripWebP keeps what makes pictures, and says so in the header.
func stripWebP(src []byte) ([]byte, bool) {
	if len(src) < 12 {
		return nil, false
	}
	out := append(make([]byte, 0, len(src)), src[:12]...)
	end := min(int64(binary.LittleEndian.Uint32(src[4:]))+8, int64(len(src)))
	plain := eachRIFF(src[12:max(end, 12)], func(kind string, body []byte) bool {
		switch kind {
		case "VP8X":
			if len(body) != 10 {
				return false
			}
			body = bytes.Clone(body)
			body[0] &^= webpMetadata
		case "ICCP":
			return plainSRGB(body)
		case "ANMF":
			if !webpFrameIsPlain(body) {
				return false
			}
		case "VP8 ", "VP8L", "ALPH", "ANIM":
		default:
			return true
		}
		out = appendRIFF(out, kind, body)
		return true
	})
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out, plain
}

// webpFrameIsPlain tells whether nothing but picture data is in a frame.
func webpFrameIsPlain(body []byte) bool {
	const header = 16
	return len(body) > header && eachRIFF(body[header:], func(kind string, _ []byte) bool {
		return kind == "VP8 " || kind == "VP8L" || kind == "ALPH"
	})
}

// eachRIFF visits chunks until visit says no; it is false then, and when the
// chunks do not end where src does.
func eachRIFF(src []byte, visit func(kind string, body []byte) bool) bool {
	for len(src) >= 8 {
		size := int64(binary.LittleEndian.Uint32(src[4:]))
		if size > int64(len(src)-8) || !visit(string(src[:4]), src[8:8+size]) {
			return false
		}
		src = src[min(8+size+size&1, int64(len(src))):]
	}
	return len(src) == 0
}

func appendRIFF(out []byte, kind string, body []byte) []byte {
	out = append(out, kind...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(body)))
	out = append(out, body...)
	if len(body)%2 == 1 {
		out = append(out, 0)
	}
	return out
}

// GIF blocks and extensions: GIF89a specification, appendix A.
const (
	gifExtension   = 0x21
	gifImage       = 0x2c
	gifTrailer     = 0x3b
	gifPlainText   = 0x01
	gifControl     = 0xf9
	gifApplication = 0xff
)

// stripGIF keeps frames, how they are shown, and how often.
func stripGIF(src []byte) ([]byte, bool) {
	if len(src) < 13 {
		return nil, false
	}
	at := 13 + colourTable(src[10])
	if at > len(src) {
		return nil, false
	}
	out := append(make([]byte, 0, len(src)), src[:at]...)
	for at < len(src) && src[at] != gifTrailer {
		next := -1
		switch {
		case src[at] == gifImage && at+10 <= len(src):
			next = subBlocks(src, at+10+colourTable(src[at+9])+1)
		case src[at] == gifExtension:
			next = subBlocks(src, at+2)
		}
		if next < 0 {
			return nil, false
		}
		kept, ok := gifShown(src[at:next])
		if !ok {
			return nil, false
		}
		out = append(out, kept...)
		at = next
	}
	return append(out, gifTrailer), true
}

// gifShown is what of a block has to stay. Text that is drawn is refused: this
// program does not draw it.
func gifShown(block []byte) (kept []byte, ok bool) {
	if block[0] == gifImage || block[1] == gifControl {
		return block, true
	}
	if block[1] == gifApplication {
		return gifLoop(block), true
	}
	return nil, block[1] != gifPlainText
}

// gifLoop is the extension that says how often an animation plays, without
// anything else that is in it; nil for other extensions.
func gifLoop(block []byte) []byte {
	if len(block) < 19 || block[2] != 11 || string(block[3:14]) != "NETSCAPE2.0" && string(block[3:14]) != "ANIMEXTS1.0" {
		return nil
	}
	if block[14] != 3 || block[15] != 1 {
		return nil
	}
	return append(bytes.Clone(block[:18]), 0)
}
