package media

import "encoding/binary"

// examineGIF walks the blocks and counts frames. A missing trailer is common
// and harmless; a frame whose data stops is not, nor is an extension, which
// announces another frame.
func examineGIF(src []byte, limits Limits) (Findings, error) {
	var found Findings
	if len(src) < 13 {
		return found, truncated(GIF, len(src))
	}
	width := int(binary.LittleEndian.Uint16(src[6:]))
	height := int(binary.LittleEndian.Uint16(src[8:]))
	if width == 0 || height == 0 {
		return found, broken(GIF, "its canvas has no size")
	}
	if err := found.seen(width, height, limits); err != nil {
		return found, err
	}
	at := 13 + colourTable(src[10])
	for at < len(src) && src[at] != 0x3b { // trailer
		next, frame, err := gifBlock(src, at, width, height)
		if err != nil {
			return found, err
		}
		if next < 0 && found.Frames > 0 && !frame && src[at] != 0x21 {
			break // garbage behind complete frames
		}
		if next < 0 {
			return found, truncated(GIF, len(src))
		}
		if frame {
			found.Frames++
		}
		if found.Frames > limits.Frames {
			return found, Errorf(CodeFrames, "The gif file has more than %d frames.", limits.Frames)
		}
		at = next
	}
	if found.Frames == 0 {
		return found, truncated(GIF, len(src))
	}
	return found, checkPixels(found.Width, found.Height, found.Frames, limits.Pixels)
}

// gifBlock reads one block and gives the position behind it, -1 when it does
// not end or is not a block.
func gifBlock(src []byte, at, width, height int) (next int, frame bool, err error) {
	switch src[at] {
	case 0x21: // extension: label, then sub-blocks
		return subBlocks(src, at+2), false, nil
	case 0x2c: // image descriptor, colour table, code size, sub-blocks
		if at+10 > len(src) {
			return -1, true, nil
		}
		right := int(binary.LittleEndian.Uint16(src[at+1:])) + int(binary.LittleEndian.Uint16(src[at+5:]))
		bottom := int(binary.LittleEndian.Uint16(src[at+3:])) + int(binary.LittleEndian.Uint16(src[at+7:]))
		if right > width || bottom > height {
			// libvips' decoder enlarges the canvas where browsers clip the
			// frame: the answer would have a wrong size.
			return 0, true, broken(GIF, "a frame reaches outside its canvas")
		}
		return subBlocks(src, at+10+colourTable(src[at+9])+1), true, nil
	}
	return -1, false, nil
}

// colourTable is the size in bytes of the table that packed flags announce.
func colourTable(packed byte) int {
	if packed&0x80 == 0 {
		return 0
	}
	return 3 << (packed&7 + 1)
}

// subBlocks skips length-prefixed blocks up to the empty one; -1 when the file
// ends before it.
func subBlocks(src []byte, at int) int {
	for at < len(src) {
		length := int(src[at])
		at += 1 + length
		if length == 0 {
			return at
		}
	}
	return -1
}
