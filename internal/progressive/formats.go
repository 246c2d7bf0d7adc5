package progressive

import "github.com/spillway-media/spillway/h2/priority"

// walkerOf is who knows the format, and the phase of a file's first byte.
func walkerOf(format string, total int64) (walker, priority.Phase) {
	switch format {
	case "jpeg":
		return newJPEG(total), priority.Header
	case "png":
		return &opening{need: pngHead, decide: func(head []byte) (walker, priority.Phase) { return openPNG(head, total) }}, priority.Header
	case "webp":
		return &opening{need: webpHead, decide: openWebP}, priority.Header
	case "gif":
		return newGIF(), priority.Header
	case "avif":
		return &boxes{enter: enterAVIF}, priority.Header
	case "jxl":
		return &opening{need: len(jxlMark), decide: func(head []byte) (walker, priority.Phase) { return openJXL(head, total) }}, priority.Header
	}
	return rows{}, priority.Body
}

// rows is all that has no phases, or none any more.
type rows struct{}

func (rows) walk(p []byte) (int, priority.Phase) { return len(p), priority.Body }

// opening gathers the first bytes of a file, by which the walker for what
// follows is chosen. They are header.
type opening struct {
	need   int // 33 at most
	head   [33]byte
	have   int
	decide func(head []byte) (walker, priority.Phase)
	then   walker // nil while bytes are missing
}

func (o *opening) walk(p []byte) (n int, next priority.Phase) {
	if o.then != nil {
		return o.then.walk(p)
	}
	n = copy(o.head[o.have:o.need], p)
	if o.have += n; o.have < o.need {
		return n, priority.Header
	}
	o.then, next = o.decide(o.head[:o.need])
	return n, next
}

// part is a number of bytes of one phase.
type part struct {
	phase  priority.Phase
	length int64 // to the end in the last one
}

// parts go one after the other; there is at least one.
type parts []part

// lay leaves out what is empty, and gives the phase that comes first.
func lay(all ...part) (walker, priority.Phase) {
	last := len(all) - 1
	var kept parts
	for i, p := range all {
		if p.length > 0 || i == last {
			kept = append(kept, p)
		}
	}
	return &kept, kept[0].phase
}

func (s *parts) walk(p []byte) (int, priority.Phase) {
	now := &(*s)[0]
	if len(*s) == 1 {
		return len(p), now.phase
	}
	n := int(min(int64(len(p)), now.length))
	if now.length -= int64(n); now.length == 0 {
		*s = (*s)[1:]
	}
	return n, (*s)[0].phase
}

// estimated is for formats whose refinements cannot be told apart without
// decoding: shares, in percent, of a whole file after its header.
func estimated(total, header, preview, good int64) (walker, priority.Phase) {
	until := total * preview / 100
	return lay(
		part{priority.Preview, until - header},
		part{priority.Good, total*good/100 - max(until, header)},
		part{phase: priority.Rest})
}
