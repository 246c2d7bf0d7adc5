package testpictures

import "math/bits"

// huffman is a JPEG Huffman table (ITU T.81, annex C).
type huffman struct {
	counts  [16]byte // codes of 1 to 16 bits
	symbols []byte
}

// flatTable gives every symbol a code of the same length, which costs bytes
// but needs no statistics. The all-ones code stays unused, as the standard
// demands.
func flatTable(length, symbols int) huffman {
	var h huffman
	for i := range symbols {
		h.symbols = append(h.symbols, byte(i))
	}
	if symbols > 255 {
		// A count is one byte: 255 codes of this length, the last one longer.
		h.counts[length-1], h.counts[length] = 255, byte(symbols-255)
		return h
	}
	h.counts[length-1] = byte(symbols)
	return h
}

// code is the bits of a symbol and how many they are.
func (h huffman) code(symbol byte) (code uint32, length int) {
	next, at := uint32(0), 0
	for l, count := range h.counts {
		for range count {
			if h.symbols[at] == symbol {
				return next, l + 1
			}
			next++
			at++
		}
		next <<= 1
	}
	panic("testpictures: symbol without a code")
}

// bitWriter packs bits most significant first and stuffs a zero after 0xff.
type bitWriter struct {
	out   []byte
	acc   uint32
	count int
}

func (w *bitWriter) write(v uint32, n int) {
	for i := n - 1; i >= 0; i-- {
		w.acc = w.acc<<1 | v>>i&1
		if w.count++; w.count == 8 {
			w.out = append(w.out, byte(w.acc))
			if byte(w.acc) == 0xff {
				w.out = append(w.out, 0)
			}
			w.acc, w.count = 0, 0
		}
	}
}

func (w *bitWriter) code(h huffman, symbol byte) {
	c, n := h.code(symbol)
	w.write(c, n)
}

// signed writes a coefficient of the given size: negative ones as the value
// below (ITU T.81, F.1.2.1).
func (w *bitWriter) signed(v, size int) {
	if v < 0 {
		v += 1<<size - 1
	}
	w.write(uint32(v), size)
}

// finish pads with ones and gives the bytes.
func (w *bitWriter) finish() []byte {
	for w.count != 0 {
		w.write(1, 1)
	}
	out := w.out
	w.out = nil
	return out
}

// bitSize is how many bits the magnitude of v needs.
func bitSize(v int) int { return bits.Len(uint(max(v, -v))) }

// zigzag is the order in which coefficients are stored (ITU T.81, figure A.6).
var zigzag = [64]int{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}
