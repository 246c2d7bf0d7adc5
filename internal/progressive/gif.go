package progressive

import "github.com/spillway-media/spillway/h2/priority"

// gifPlace is what the next bytes of a GIF are.
type gifPlace uint8

const (
	gifScreen     gifPlace = iota // signature, size and flags
	gifPalette                    // for all frames
	gifBlock                      // what begins here
	gifLabel                      // of an extension
	gifExtension                  // how long its next piece is
	gifDescriptor                 // size and flags of a frame
	gifOwnPalette
	gifCodeSize
	gifPixels // how long the next piece of coded pixels is
	gifEnd
)

// gif follows a GIF to the end of its first frame, which is a preview of an
// animation, and all of a still.
type gif struct {
	place gifPlace
	left  int  // bytes that follow without a meaning of their own
	flags byte // of the screen or the frame
	phase priority.Phase
	done  int64
}

const (
	gifScreenBytes     = 13 // flags are the eleventh
	gifDescriptorBytes = 9  // flags are the last
	gifOwnColours      = 0x80
)

func newGIF() *gif { return &gif{left: gifScreenBytes, phase: priority.Header} }

func (g *gif) walk(p []byte) (int, priority.Phase) {
	if g.place == gifEnd {
		return len(p), g.phase
	}
	before, n := g.phase, 0
	if before == priority.Header {
		p = p[:min(int64(len(p)), headerLimit-g.done)]
	}
	for n < len(p) && g.phase == before {
		n += g.step(p[n:])
	}
	if g.done += int64(n); g.phase == priority.Header && g.done == headerLimit {
		g.stop(priority.Body)
	}
	return n, g.phase
}

func (g *gif) stop(phase priority.Phase) { g.place, g.phase = gifEnd, phase }

// step takes what has no meaning at once, and other bytes one by one.
func (g *gif) step(p []byte) int {
	switch g.place {
	case gifScreen, gifDescriptor:
		return g.described(p)
	case gifPalette, gifOwnPalette:
		return g.skip(p)
	case gifExtension, gifPixels:
		if g.left > 0 {
			return g.skip(p)
		}
		g.piece(p[0])
	case gifBlock:
		g.block(p[0])
	case gifLabel:
		g.place = gifExtension
	case gifCodeSize:
		g.place = gifPixels
	default:
		return len(p)
	}
	return 1
}

// skip passes over bytes, and over the end of a palette.
func (g *gif) skip(p []byte) int {
	n := min(len(p), g.left)
	if g.left -= n; g.left > 0 {
		return n
	}
	switch g.place {
	case gifPalette:
		g.place = gifBlock
	case gifOwnPalette:
		g.place = gifCodeSize
	}
	return n
}

// described reads the flags of the screen or of a frame, and whether colours
// follow.
func (g *gif) described(p []byte) int {
	at := 1 // bytes left with the flags
	if g.place == gifScreen {
		at = gifScreenBytes - 10
	}
	if g.left == at {
		g.flags = p[0]
	}
	if g.left--; g.left > 0 {
		return 1
	}
	colours := 0
	if g.flags&gifOwnColours != 0 {
		colours = 3 << (g.flags&7 + 1)
	}
	next, palette := gifBlock, gifPalette
	if g.place == gifDescriptor {
		next, palette = gifCodeSize, gifOwnPalette
		g.phase = priority.Preview
	}
	if g.place, g.left = next, colours; colours > 0 {
		g.place = palette
	}
	return 1
}

// piece is the length of one; 0 ends them.
func (g *gif) piece(length byte) {
	switch {
	case length > 0:
		g.left = int(length)
	case g.place == gifPixels:
		g.stop(priority.Rest)
	default:
		g.place = gifBlock
	}
}

// block tells what begins.
func (g *gif) block(b byte) {
	switch b {
	case '!':
		g.place = gifLabel
	case ',':
		g.place, g.left = gifDescriptor, gifDescriptorBytes
	default: // the end without a frame, or no GIF
		g.stop(priority.Body)
	}
}
