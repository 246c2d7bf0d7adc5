package progressive

import (
	"bytes"

	"github.com/spillway-media/spillway/h2/priority"
)

// The markers that matter (ITU-T T.81, table B.1).
const (
	markerTEM  = 0x01
	markerSOF0 = 0xc0
	markerDHT  = 0xc4
	markerJPG  = 0xc8
	markerDAC  = 0xcc
	markerRST0 = 0xd0
	markerRST7 = 0xd7
	markerSOI  = 0xd8
	markerEOI  = 0xd9
	markerSOS  = 0xda
	markerAPP0 = 0xe0
	markerCOM  = 0xfe
)

// place is where in a JPEG the next byte stands.
type place uint8

const (
	atMarker place = iota // at a byte that should be 0xFF
	atCode                // behind that byte, and those that fill
	atLength              // in the two bytes of a segment's length
	inSegment
	inScan    // in entropy-coded data
	inEscape  // behind an 0xFF in it
	inTrailer // behind the end, or in what is no JPEG
)

// components is how many a frame has here at most, as all JPEGs of the web.
const components = 4

// headerLimit is what is sent ahead of everything else at most: a picture that
// is mostly metadata does not get in front of a page.
const headerLimit = 64 << 10

// jpeg follows a JPEG from marker to marker. Each phase ends with the header of
// the next scan, or the end marker: decoders that smooth the averages of blocks
// hold the last two rows of a scan back until the next one has begun.
type jpeg struct {
	total, done int64
	start       int64 // where the header ended
	place       place
	phase       priority.Phase
	coming      priority.Phase // that which begins with the next scan's data
	code        byte           // of the marker or segment
	left        int            // bytes of the length, then of the segment
	head        [6 + 3*components]byte
	filled      int  // of head
	frame       bool // there was one
	progressive bool
	ids         [components]byte
	count       int // of ids
	coded       [components]coded
}

// coded is how far a component's coefficients have come.
type coded struct {
	dc   bool
	ac   bool
	high uint64 // a bit for each coefficient that is exact to its last bit but one
}

func newJPEG(total int64) *jpeg {
	return &jpeg{total: total, phase: priority.Header}
}

func (j *jpeg) walk(p []byte) (int, priority.Phase) {
	if j.phase == priority.Body || j.phase == priority.Rest {
		return len(p), j.phase // to the end
	}
	if j.phase == priority.Header {
		p = p[:min(int64(len(p)), headerLimit-j.done)]
	}
	before, n := j.phase, 0
	for n < len(p) && j.phase == before {
		took := j.step(p[n:])
		n += took
		j.done += int64(took)
	}
	if before == priority.Header {
		j.start = j.done
	}
	if j.phase == priority.Header && j.done == headerLimit {
		j.phase = priority.Body
	}
	return n, j.phase
}

// step takes one byte, or as many as make no difference.
func (j *jpeg) step(p []byte) int {
	b := p[0]
	switch j.place {
	case atMarker:
		if b != 0xff {
			return j.give(p) // no JPEG, or none any more
		}
		j.place = atCode
	case atCode:
		j.marker(b)
	case atLength:
		j.length(b)
	case inSegment:
		return j.segment(p)
	case inScan:
		if skip := bytes.IndexByte(p, 0xff); skip != 0 {
			if skip < 0 {
				skip = len(p)
			}
			return skip
		}
		j.place = inEscape
	case inEscape:
		switch {
		case b == 0xff: // fills
		case b == 0 || b >= markerRST0 && b <= markerRST7:
			j.place = inScan
		default:
			j.scanned()
			j.marker(b)
		}
	default:
		return j.give(p)
	}
	return 1
}

// give is for what comes behind the picture, and for what is none.
func (j *jpeg) give(p []byte) int {
	j.end()
	if j.phase == priority.Body {
		return 1
	}
	return len(p)
}

// end is where no more phases begin. What has none so far is body.
func (j *jpeg) end() {
	j.place = inTrailer
	if j.phase == priority.Header {
		j.phase = priority.Body
	}
}

// marker is what stands behind 0xFF.
func (j *jpeg) marker(code byte) {
	j.code, j.left, j.filled = code, 0, 0
	switch {
	case code == 0xff: // fills
		j.place = atCode
	case code == markerSOI || code == markerTEM || code >= markerRST0 && code <= markerRST7:
		j.place = atMarker
	case code == markerEOI || code == 0:
		j.scanFollows()
		j.end()
	default:
		j.place = atLength
	}
}

func (j *jpeg) length(b byte) {
	j.left = j.left<<8 | int(b)
	j.filled++
	if j.filled < 2 {
		return
	}
	j.filled, j.left = 0, j.left-2
	if j.left > 0 {
		j.place = inSegment
		return
	}
	j.segmentDone()
}

// segment takes what there is of one, and remembers its beginning.
func (j *jpeg) segment(p []byte) int {
	n := min(len(p), j.left)
	if j.code == markerSOS || isFrame(j.code) {
		j.filled += copy(j.head[j.filled:], p[:n])
	}
	if j.left -= n; j.left == 0 {
		j.segmentDone()
	}
	return n
}

func (j *jpeg) segmentDone() {
	j.place = atMarker
	switch {
	case j.code == markerSOS:
		j.place = inScan
		j.scanFollows()
		j.headerEnds() // no frame came before it: no decoder will make sense of that
	case isFrame(j.code) && !j.frame:
		j.beginFrame()
		j.headerEnds()
	}
}

// isFrame tells SOF0 to SOF15 from the three that have their numbers.
func isFrame(code byte) bool {
	return code >= markerSOF0 && code <= markerSOF0+15 && code != markerDHT && code != markerJPG && code != markerDAC
}

// beginFrame reads T.81, B.2.2: precision, lines, samples and components.
func (j *jpeg) beginFrame() {
	j.frame = true
	count := int(j.head[5])
	progressive := (j.code-markerSOF0)&3 == 2
	if !progressive || count < 1 || count > components || j.filled < 6+3*count {
		return
	}
	j.progressive, j.count = true, count
	for i := range count {
		j.ids[i] = j.head[6+3*i]
	}
}

// headerEnds is where the size of the picture has been told. The header stops
// here, before tables and the first scan's header, though decoders of libjpeg's
// kind tell the size only with those. Chromium paints what it has when it learns
// the size, and then nothing more for a second: the size should come with the
// preview, in one piece, and not ahead of it.
func (j *jpeg) headerEnds() {
	if j.phase != priority.Header {
		return
	}
	j.phase = priority.Body
	if j.progressive {
		j.phase, j.coming = priority.Preview, priority.Preview
	}
}

// scanFollows is where what the scans so far have brought can be shown in full.
func (j *jpeg) scanFollows() {
	if j.phase == priority.Preview || j.phase == priority.Good {
		j.phase = j.coming
	}
}

// scanned is called at the end of a scan, whose header (T.81, B.2.3) is still
// in head.
func (j *jpeg) scanned() {
	if !j.progressive || j.code != markerSOS {
		return
	}
	n := int(j.head[0])
	if n < 1 || n > components || j.filled < 4+2*n {
		return
	}
	low, high := j.head[1+2*n], min(j.head[2+2*n], 63)
	before, after := j.head[3+2*n]>>4, j.head[3+2*n]&15
	for i := range n {
		for c := range j.count {
			if j.ids[c] == j.head[1+2*i] {
				j.coded[c].add(low, high, before, after)
			}
		}
	}
	j.advance()
}

func (c *coded) add(low, high, before, after byte) {
	if low == 0 {
		c.dc = c.dc || before == 0
		return
	}
	c.ac = c.ac || before == 0
	for k := low; k <= high && after <= 1; k++ {
		c.high |= 1 << k
	}
}

// advance is at the end of a scan.
func (j *jpeg) advance() {
	if j.coming == priority.Preview && j.all(func(c coded) bool { return c.dc }) {
		j.coming = priority.Good
	}
	if j.coming == priority.Good && j.good() {
		j.coming = priority.Rest
	}
}

// allBands are the coefficients 1 to 63.
const allBands = 1<<64 - 2

// lateGood is the share of a picture, in percent, after which it is good
// whatever is missing: some encoders leave the colours to the very end.
const lateGood = 65

// good is when colours are there and brightness is exact but for a last bit.
func (j *jpeg) good() bool {
	if 100*(j.done-j.start) >= lateGood*(j.total-j.start) && j.total >= 0 {
		return true
	}
	return j.coded[0].high == allBands && j.all(func(c coded) bool { return c.ac })
}

func (j *jpeg) all(done func(coded) bool) bool {
	for _, c := range j.coded[:j.count] {
		if !done(c) {
			return false
		}
	}
	return true
}
