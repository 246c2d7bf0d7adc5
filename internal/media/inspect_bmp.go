package media

import "encoding/binary"

// examineBMP checks the two headers and that uncompressed rows are all there.
func examineBMP(src []byte, limits Limits) (Findings, error) {
	var found Findings
	if len(src) < 26 {
		return found, truncated(BMP, len(src))
	}
	offset, header := int64(binary.LittleEndian.Uint32(src[10:])), int64(binary.LittleEndian.Uint32(src[14:]))
	if header < 12 {
		return found, broken(BMP, "its second header is too short")
	}
	if offset > int64(len(src)) || 14+header > int64(len(src)) {
		return found, truncated(BMP, len(src))
	}
	width, height, depth, packed := bmpHeader(src[14 : 14+header])
	if width <= 0 || height == 0 {
		return found, broken(BMP, "it has no size")
	}
	height = max(height, -height) // negative: stored top to bottom
	switch depth {
	case 1, 2, 4, 8, 16, 24, 32:
	default:
		return found, broken(BMP, "its number of bits per pixel does not exist")
	}
	if err := found.seen(int(width), int(height), limits); err != nil {
		return found, err
	}
	row := (width*depth + 31) / 32 * 4
	if !packed && offset+row*height > int64(len(src)) {
		return found, truncated(BMP, len(src))
	}
	return found, nil
}

// bmpHeader reads the second header; its two-byte OS/2 form has 12 bytes.
func bmpHeader(h []byte) (width, height, depth int64, packed bool) {
	if len(h) < 16 {
		return int64(binary.LittleEndian.Uint16(h[4:])), int64(binary.LittleEndian.Uint16(h[6:])),
			int64(binary.LittleEndian.Uint16(h[10:])), false
	}
	width = int64(int32(binary.LittleEndian.Uint32(h[4:])))
	height = int64(int32(binary.LittleEndian.Uint32(h[8:])))
	depth = int64(binary.LittleEndian.Uint16(h[14:]))
	if len(h) >= 20 {
		compression := binary.LittleEndian.Uint32(h[16:])
		packed = compression != 0 && compression != 3 && compression != 6 // plain, or with bit masks
	}
	return width, height, depth, packed
}
