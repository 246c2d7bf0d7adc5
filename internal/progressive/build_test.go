package progressive_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
)

// scan is one of a JPEG's script: whose, which coefficients, which bits.
type scan struct {
	components            []byte
	low, high, prior, bit byte
	bytes                 int
}

// turbo is the script of libjpeg-turbo for three components, with about the
// sizes that a photograph has.
func turbo() []scan {
	return []scan{
		{[]byte{1, 2, 3}, 0, 0, 0, 1, 120}, {[]byte{1}, 1, 5, 0, 2, 120}, {[]byte{3}, 1, 63, 0, 1, 40},
		{[]byte{2}, 1, 63, 0, 1, 50}, {[]byte{1}, 6, 63, 0, 2, 100}, {[]byte{1}, 1, 63, 2, 1, 200},
		{[]byte{1, 2, 3}, 0, 0, 1, 0, 20}, {[]byte{3}, 1, 63, 1, 0, 30}, {[]byte{2}, 1, 63, 1, 0, 30}, {[]byte{1}, 1, 63, 1, 0, 390},
	}
}

// jpegOf makes a file with the markers of a JPEG and no picture in it. before
// and behind are what stands around the frame header.
func jpegOf(frame byte, components int, scans []scan, before, behind []byte) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	out := append([]byte{0xff, 0xd8}, before...)
	head := []byte{8, 0, 99, 0, 77, byte(components)}
	for i := range components {
		head = append(head, byte(i+1), 0x11, 0)
	}
	out = append(append(out, segment(frame, head)...), behind...)
	for _, s := range scans {
		out = append(out, segment(0xc4, make([]byte, 20))...)
		head := []byte{byte(len(s.components))}
		for _, c := range s.components {
			head = append(head, c, 0)
		}
		out = append(out, segment(0xda, append(head, s.low, s.high, s.prior<<4|s.bit))...)
		for range s.bytes {
			switch random.IntN(8) {
			case 0:
				out = append(out, 0xff, 0)
			case 1:
				out = append(out, 0xff, 0xd0|byte(random.IntN(8)))
			default:
				out = append(out, byte(random.IntN(255)))
			}
		}
	}
	return append(out, 0xff, 0xd9)
}

func segment(marker byte, body []byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(body)+2)), body...)
}

func turboJPEG() []byte { return jpegOf(0xc2, 3, turbo(), segment(0xdb, make([]byte, 65)), nil) }

// pngOf is the beginning of a PNG of that width and as many bytes.
func pngOf(interlaced bool, total int) []byte {
	out := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	out = append(out, "IHDR\x00\x00\x00\x40\x00\x00\x00\x40\x08\x02\x00\x00\x00"...)
	if interlaced {
		out[28] = 1
	}
	return append(out, make([]byte, total-len(out))...)
}

func chunk(kind string, size int) []byte {
	out := binary.LittleEndian.AppendUint32([]byte(kind), uint32(size))
	return append(out, make([]byte, size+size&1)...)
}

func webpOf(chunks ...[]byte) []byte {
	body := bytes.Join(chunks, nil)
	return append(append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body)+4)), "WEBP"...), body...)
}

// animatedWebP has three frames, the first of 99 bytes.
func animatedWebP() []byte {
	head := chunk("VP8X", 10)
	head[8] = 2
	return webpOf(head, chunk("ANIM", 6), chunk("ANMF", 99), chunk("ANMF", 50), chunk("ANMF", 50))
}

// gifOf has a palette, a comment, a frame with colours of its own, and more
// frames.
func gifOf(frames int) []byte {
	out := append([]byte("GIF89a\x04\x00\x04\x00\x81\x00\x00"), make([]byte, 12)...)
	out = append(out, "!\xfe\x05hello\x00"...)
	for range frames {
		out = append(out, "!\xf9\x04\x00\x00\x00\x00\x00"...)
		out = append(out, ",\x00\x00\x00\x00\x04\x00\x04\x00\x80"...)
		out = append(out, make([]byte, 6)...)
		out = append(out, 2, 3, 0, 1, 2, 2, 3, 4, 0)
	}
	return append(out, ';')
}

func box(kind string, size int) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(size+8)), kind...), make([]byte, size)...)
}

func avif() []byte {
	return bytes.Join([][]byte{box("ftyp", 20), box("meta", 250), box("mdat", 700)}, nil)
}

// wideBox has its size in eight bytes.
func wideBox(kind string, size int) []byte {
	out := append([]byte{0, 0, 0, 1}, kind...)
	return append(binary.BigEndian.AppendUint64(out, uint64(size+16)), make([]byte, size)...)
}

func samples() map[string][]byte {
	return map[string][]byte{
		"jpeg": turboJPEG(), "png": pngOf(true, 1000), "webp": animatedWebP(), "gif": gifOf(3), "avif": avif(),
		"jxl":  append(append(box("JXL ", 4), box("ftyp", 12)...), box("jxlc", 900)...),
		"tiff": make([]byte, 500), "": make([]byte, 100),
	}
}
