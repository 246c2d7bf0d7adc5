package testpictures

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"io"
)

// GiantPNG claims w x h pixels of true colour and brings a handful.
func GiantPNG(w, h int) []byte {
	return PNGChunks(headerChunk(w, h, 8, PNGRGB, 0), Chunk{"IDAT", deflated(make([]byte, 64))}, Chunk{"IEND", nil})
}

// DeflatedPNG is a black picture of one bit a pixel that is all there: at
// 20000 x 20000 some 50 kB become 400 megapixels.
func DeflatedPNG(w, h int) []byte {
	raw := zeros(int64(h)*int64((w+7)/8+1), zlibWriter)
	return PNGChunks(headerChunk(w, h, 1, PNGGrey, 0), Chunk{"IDAT", raw}, Chunk{"IEND", nil})
}

// ProfileBombPNG is a small picture whose colour profile inflates to n bytes.
func ProfileBombPNG(n int64) []byte {
	bomb := Chunk{"iCCP", append([]byte("bomb\x00\x00"), zeros(n, zlibWriter)...)}
	return PNGOf(Scene(64, 64), 8, PNGRGB, false, bomb)
}

// TextBombPNG is a small picture with a compressed text that inflates to n
// bytes.
func TextBombPNG(n int64) []byte {
	bomb := Chunk{"zTXt", append([]byte("bomb\x00\x00"), zeros(n, zlibWriter)...)}
	return PNGOf(Scene(64, 64), 8, PNGRGB, false, bomb)
}

// HugeChunkPNG has an IDAT that claims to be 2 GiB long.
func HugeChunkPNG() []byte {
	out := PNGChunks(headerChunk(2, 2, 8, PNGRGB, 0))
	out = binary.BigEndian.AppendUint32(out, 0x7fffffff)
	return append(out, "IDATxxxx"...)
}

// GiantGIF claims a canvas of w x h and draws one pixel on it.
func GiantGIF(w, h int) []byte {
	out := []byte("GIF89a")
	out = binary.LittleEndian.AppendUint16(out, uint16(w))
	out = binary.LittleEndian.AppendUint16(out, uint16(h))
	out = append(out, 0x80, 0, 0, 0, 0, 0, 255, 255, 255)
	return append(append(out, onePixelFrame...), 0x3b)
}

// FrameBombGIF repeats a frame of one pixel n times on a canvas of w x h:
// every frame costs a viewer the whole canvas.
func FrameBombGIF(w, h, n int) []byte {
	one := GiantGIF(w, h)
	out := one[:len(one)-len(onePixelFrame)-1]
	out = append(out, bytes.Repeat([]byte(onePixelFrame), n)...)
	return append(out, 0x3b)
}

// onePixelFrame is a graphic control extension (10 ms) and a picture of 1 x 1.
const onePixelFrame = "\x21\xf9\x04\x04\x01\x00\x00\x00" +
	"\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x4c\x01\x00"

// ScanBombJPEG is a valid grey progressive JPEG of side x side (a multiple of
// 8) with the given number of scans, at most 883. Every scan makes a decoder
// go over all coefficients again, and takes a few bytes.
func ScanBombJPEG(side, scans int) []byte {
	out := []byte{0xff, 0xd8}
	table := make([]byte, 65)
	for i := 1; i < 65; i++ {
		table[i] = 1
	}
	out = appendSegment(out, 0xdb, table)
	out = appendSegment(out, 0xc2, []byte{8, byte(side >> 8), byte(side), byte(side >> 8), byte(side), 1, 1, 0x11, 0})
	out = appendSegment(out, 0xc4, append([]byte{0x00, 1}, make([]byte, 16)...))
	out = appendSegment(out, 0xc4, append([]byte{0x10, 1, 1}, append(make([]byte, 14), 0xe0, 0x00)...))
	blocks := side / 8 * (side / 8)
	out = append(out, dcScan(blocks)...)
	count := 1
	for k := byte(1); k < 64; k++ {
		for low := 13; low >= 0 && count < scans; low-- {
			high := byte(low + 1)
			if low == 13 {
				high = 0
			}
			out = append(out, emptyScan(k, high<<4|byte(low), blocks)...)
			count++
		}
	}
	return append(out, 0xff, 0xd9)
}

// dcScan is the first scan: every DC difference is zero, one bit each.
func dcScan(blocks int) []byte {
	var bits bitWriter
	for range blocks {
		bits.write(0, 1)
	}
	return append(appendSegment(nil, 0xda, []byte{1, 1, 0, 0, 0, 0}), bits.finish()...)
}

// emptyScan says by runs of end-of-block that coefficient k stays zero. The
// table has two codes: 0 for a run of 2^14 and more blocks, 10 for one block.
func emptyScan(k, approximation byte, blocks int) []byte {
	var bits bitWriter
	for ; blocks >= 1<<14; blocks -= min(blocks, 1<<15-1) {
		bits.write(0, 1)
		bits.write(uint32(min(blocks, 1<<15-1)-1<<14), 14)
	}
	for range blocks {
		bits.write(0b10, 2)
	}
	return append(appendSegment(nil, 0xda, []byte{1, 1, 0, k, k, approximation}), bits.finish()...)
}

func zlibWriter(w io.Writer) io.WriteCloser {
	z, err := zlib.NewWriterLevel(w, flate.BestSpeed)
	must(err)
	return z
}

func gzipWriter(w io.Writer) io.WriteCloser {
	z, err := gzip.NewWriterLevel(w, flate.BestSpeed)
	must(err)
	return z
}

// zeros is n zero bytes, packed.
func zeros(n int64, packer func(io.Writer) io.WriteCloser) []byte {
	var buf bytes.Buffer
	z := packer(&buf)
	block := make([]byte, 1<<16)
	for n > 0 {
		part := min(n, int64(len(block)))
		_, err := z.Write(block[:part])
		must(err)
		n -= part
	}
	must(z.Close())
	return buf.Bytes()
}
