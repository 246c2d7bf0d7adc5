package testpictures

import (
	"encoding/binary"
	"image/color"
)

// SolidWebP is a lossless WebP of one colour, at most 16384 a side: a few
// bytes for any number of pixels.
func SolidWebP(w, h int, c color.NRGBA) []byte {
	return riff(riffChunk("VP8L", solidVP8L(w, h, c)))
}

// WebPFrames is an animated WebP of n solid frames of fw x fh on a canvas of
// w x h.
func WebPFrames(w, h, fw, fh, n int) []byte {
	extended := append([]byte{0x12, 0, 0, 0}, uint24(w-1)...) // alpha, animation
	extended = append(extended, uint24(h-1)...)
	body := riffChunk("VP8X", extended)
	body = append(body, riffChunk("ANIM", make([]byte, 6))...)
	frame := riffChunk("VP8L", solidVP8L(fw, fh, color.NRGBA{120, 60, 30, 255}))
	for range n {
		data := append(uint24(0), uint24(0)...)
		data = append(append(data, uint24(fw-1)...), uint24(fh-1)...)
		data = append(append(data, uint24(100)...), 0)
		body = append(body, riffChunk("ANMF", append(data, frame...))...)
	}
	return riff(body)
}

// solidVP8L is a lossless bit stream in which every prefix code has a single
// symbol, so that pixels cost no bits (RFC 9649, section 3).
func solidVP8L(w, h int, c color.NRGBA) []byte {
	var b littleBits
	b.write(0x2f, 8)
	b.write(uint32(w-1), 14)
	b.write(uint32(h-1), 14)
	b.write(1, 1) // alpha is used
	b.write(0, 3) // version
	b.write(0, 3) // no transform, no colour cache, one group of prefix codes
	for _, symbol := range []uint8{c.G, c.R, c.B, c.A} {
		b.write(1, 1) // simple code
		b.write(0, 1) // of one symbol
		b.write(1, 1) // of eight bits
		b.write(uint32(symbol), 8)
	}
	b.write(0b0001, 4) // the distance code: one symbol of one bit, 0
	return b.bytes()
}

func riffChunk(name string, data []byte) []byte {
	out := binary.LittleEndian.AppendUint32([]byte(name), uint32(len(data)))
	out = append(out, data...)
	if len(data)%2 == 1 {
		out = append(out, 0)
	}
	return out
}

func riff(body []byte) []byte {
	out := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(4+len(body)))
	return append(append(out, "WEBP"...), body...)
}

func uint24(v int) []byte { return []byte{byte(v), byte(v >> 8), byte(v >> 16)} }

// littleBits packs bits least significant first, as VP8L wants them.
type littleBits struct {
	out   []byte
	count int
}

func (b *littleBits) write(v uint32, n int) {
	for i := range n {
		if b.count%8 == 0 {
			b.out = append(b.out, 0)
		}
		b.out[len(b.out)-1] |= byte(v>>i&1) << (b.count % 8)
		b.count++
	}
}

// bytes pads to an even length, which some readers expect of a chunk.
func (b *littleBits) bytes() []byte {
	if len(b.out)%2 == 1 {
		b.out = append(b.out, 0)
	}
	return b.out
}
