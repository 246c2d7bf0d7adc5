package testpictures

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
)

// PNG colour types.
const (
	PNGGrey      = 0
	PNGRGB       = 2
	PNGPalette   = 3
	PNGGreyAlpha = 4
	PNGRGBA      = 6
)

// Chunk is one PNG chunk without its length and checksum.
type Chunk struct {
	Name string
	Data []byte
}

// PNG describes a file to write. The standard library picks depth and type
// itself; here every legal combination can be had.
type PNG struct {
	Width, Height int
	Depth, Type   int
	Interlaced    bool
	// Before stand between IHDR and IDAT, After behind IDAT.
	Before, After []Chunk
	// Sample is the stored level of a band, in the depth's own range.
	Sample func(x, y, band int) uint16
}

// Bytes writes the file.
func (p PNG) Bytes() []byte {
	var raw bytes.Buffer
	z := zlib.NewWriter(&raw)
	passes := []pass{{0, 0, 1, 1}}
	if p.Interlaced {
		passes = adam7
	}
	for _, pass := range passes {
		for y := pass.y; y < p.Height; y += pass.stepY {
			if row := p.row(y, pass); row != nil {
				_, err := z.Write(row)
				must(err)
			}
		}
	}
	must(z.Close())
	chunks := append([]Chunk{p.header()}, p.Before...)
	chunks = append(chunks, Chunk{"IDAT", raw.Bytes()})
	chunks = append(chunks, p.After...)
	return PNGChunks(append(chunks, Chunk{"IEND", nil})...)
}

// pass is one of the seven pictures an interlaced file consists of (PNG, 8.2).
type pass struct{ x, y, stepX, stepY int }

var adam7 = []pass{
	{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2},
}

func (p PNG) bands() int {
	return map[int]int{PNGGrey: 1, PNGRGB: 3, PNGPalette: 1, PNGGreyAlpha: 2, PNGRGBA: 4}[p.Type]
}

// row packs one line of a pass behind its filter byte; nil when it is empty.
func (p PNG) row(y int, s pass) []byte {
	if s.x >= p.Width {
		return nil
	}
	out := []byte{0}
	var acc, filled int
	for x := s.x; x < p.Width; x += s.stepX {
		for band := range p.bands() {
			v := p.Sample(x, y, band)
			switch p.Depth {
			case 16:
				out = binary.BigEndian.AppendUint16(out, v)
			case 8:
				out = append(out, byte(v))
			default:
				acc = acc<<p.Depth | int(v)
				if filled += p.Depth; filled == 8 {
					out, acc, filled = append(out, byte(acc)), 0, 0
				}
			}
		}
	}
	if filled > 0 {
		out = append(out, byte(acc<<(8-filled)))
	}
	return out
}

func (p PNG) header() Chunk {
	interlace := byte(0)
	if p.Interlaced {
		interlace = 1
	}
	return headerChunk(p.Width, p.Height, byte(p.Depth), byte(p.Type), interlace)
}

func headerChunk(w, h int, depth, kind, interlace byte) Chunk {
	data := binary.BigEndian.AppendUint32(nil, uint32(w))
	data = binary.BigEndian.AppendUint32(data, uint32(h))
	return Chunk{"IHDR", append(data, depth, kind, 0, 0, interlace)}
}

// PNGChunks is the signature and the chunks with lengths and checksums.
func PNGChunks(chunks ...Chunk) []byte {
	out := []byte("\x89PNG\r\n\x1a\n")
	for _, c := range chunks {
		out = binary.BigEndian.AppendUint32(out, uint32(len(c.Data)))
		start := len(out)
		out = append(append(out, c.Name...), c.Data...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[start:]))
	}
	return out
}

// ICCChunk is the iCCP chunk of a profile.
func ICCChunk(profile []byte) Chunk {
	return Chunk{"iCCP", append([]byte("test\x00\x00"), deflated(profile)...)}
}

func deflated(data []byte) []byte {
	var buf bytes.Buffer
	z := zlib.NewWriter(&buf)
	_, err := z.Write(data)
	must(err)
	must(z.Close())
	return buf.Bytes()
}

// levels samples the bands of an NRGBA picture in the given depth and type.
func levels(img *image.NRGBA, depth, kind int) func(x, y, band int) uint16 {
	return func(x, y, band int) uint16 {
		c := img.NRGBAAt(x, y)
		grey := uint8((299*int(c.R) + 587*int(c.G) + 114*int(c.B) + 500) / 1000)
		var v uint8
		switch kind {
		case PNGGrey, PNGGreyAlpha:
			v = [2]uint8{grey, c.A}[band]
		default:
			v = [4]uint8{c.R, c.G, c.B, c.A}[band]
		}
		if depth == 16 {
			return uint16(v) * 257
		}
		return uint16(v) >> (8 - depth)
	}
}

// PNGOf writes a picture in the given depth and colour type (not palette).
func PNGOf(img *image.NRGBA, depth, kind int, interlaced bool, before ...Chunk) []byte {
	return PNG{
		Width: img.Rect.Dx(), Height: img.Rect.Dy(), Depth: depth, Type: kind,
		Interlaced: interlaced, Before: before, Sample: levels(img, depth, kind),
	}.Bytes()
}

// PalettePNG is a picture of four vertical bars from a palette of four: red
// opaque, green half clear, blue a quarter there, white all clear.
func PalettePNG(w, h int) []byte {
	return PNG{
		Width: w, Height: h, Depth: 2, Type: PNGPalette,
		Before: []Chunk{
			{"PLTE", []byte{255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255}},
			{"tRNS", []byte{255, 128, 64, 0}},
		},
		Sample: func(x, _, _ int) uint16 { return uint16(4 * x / w) },
	}.Bytes()
}

// ColourKeyPNG is the scene with one colour declared transparent: the red of
// the block at the top left.
func ColourKeyPNG(w, h int) []byte {
	return PNGOf(Scene(w, h), 8, PNGRGB, false, Chunk{"tRNS", []byte{0, 208, 0, 32, 0, 40}})
}
