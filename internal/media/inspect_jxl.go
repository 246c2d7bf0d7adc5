package media

import "bytes"

// examineJXL checks that the boxes of a JPEG XL container are whole and reads
// the head of the codestream. Animations are refused: the decoder of libvips
// 8.14 hands over their last frame as if it were the picture.
func examineJXL(src []byte, limits Limits) (Findings, error) {
	stream, err := jxlCodestream(src)
	if err != nil {
		return Findings{}, err
	}
	var found Findings
	head := readJXLHead(stream)
	if head.short {
		return found, truncated(JXL, len(src))
	}
	if err := found.seen(head.width, head.height, limits); err != nil {
		return found, err
	}
	if head.animated {
		return found, Errorf(CodeUnsupported, "The source is an animated JPEG XL, of which only still ones are read.")
	}
	return found, nil
}

// jxlCodestream is the picture data behind its two-byte mark, or the first
// part of it: bare, or in a box of its own (ISO/IEC 18181-2, 9).
func jxlCodestream(src []byte) ([]byte, error) {
	mark := []byte{0xff, 0x0a}
	if bytes.HasPrefix(src, mark) {
		return src[2:], nil
	}
	var stream []byte
	for at := 0; at < len(src); {
		b, ok := nextBox(src, at)
		if !ok {
			return nil, truncated(JXL, len(src))
		}
		body := b.body
		if b.kind == "jxlp" && len(body) >= 4 {
			body = body[4:] // behind the part's number
		}
		if (b.kind == "jxlc" || b.kind == "jxlp") && stream == nil {
			stream = body
		}
		at = b.end
	}
	if !bytes.HasPrefix(stream, mark) {
		return nil, broken(JXL, "it holds no picture data")
	}
	return stream[2:], nil
}

// jxlHead is what the first bits tell.
type jxlHead struct {
	width, height int
	animated      bool
	short         bool // the data end before they tell
}

// readJXLHead follows ISO/IEC 18181-1, annexes D.2 and D.3, as far as the bit
// that announces an animation.
func readJXLHead(stream []byte) (head jxlHead) {
	bits := jxlBits{data: stream}
	head.width, head.height = bits.size()
	if bits.take(1) == 0 && bits.take(1) == 1 { // not all default, extra fields
		bits.take(3) // orientation
		if bits.take(1) == 1 {
			bits.size() // intrinsic size
		}
		if bits.take(1) == 1 {
			bits.preview()
		}
		head.animated = bits.take(1) == 1
	}
	head.short = bits.short
	return head
}

// jxlBits reads bits, the lowest of each byte first.
type jxlBits struct {
	data  []byte
	at    int
	short bool
}

func (b *jxlBits) take(n int) int {
	value := 0
	for i := range n {
		if b.at>>3 >= len(b.data) {
			b.short = true
			return 0
		}
		value |= int(b.data[b.at>>3]>>(b.at&7)&1) << i
		b.at++
	}
	return value
}

// choice is a number whose first two bits tell how many bits follow and what
// to add to them.
func (b *jxlBits) choice(widths, offsets [4]int) int {
	which := b.take(2)
	return b.take(widths[which]) + offsets[which]
}

// size reads a size header: the height, and the width or its ratio.
func (b *jxlBits) size() (width, height int) {
	side := func() int { return b.choice([4]int{9, 13, 18, 30}, [4]int{1, 1, 1, 1}) }
	if b.take(1) == 1 {
		side = func() int { return 8 * (b.take(5) + 1) }
	}
	return b.sides(side)
}

// preview reads a preview header, which is like a size header but smaller.
func (b *jxlBits) preview() {
	side := func() int { return b.choice([4]int{6, 8, 10, 12}, [4]int{1, 65, 321, 1345}) }
	if b.take(1) == 1 {
		side = func() int { return 8 * b.choice([4]int{0, 0, 5, 9}, [4]int{16, 32, 1, 33}) }
	}
	b.sides(side)
}

// jxlRatios are width over height for the ratios 1 to 7.
var jxlRatios = [8][2]int{{}, {1, 1}, {12, 10}, {4, 3}, {3, 2}, {16, 9}, {5, 4}, {2, 1}}

func (b *jxlBits) sides(side func() int) (width, height int) {
	height = side()
	ratio := b.take(3)
	if ratio == 0 {
		return side(), height
	}
	return height * jxlRatios[ratio][0] / jxlRatios[ratio][1], height
}
