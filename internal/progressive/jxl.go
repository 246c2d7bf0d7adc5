package progressive

import "github.com/spillway-media/spillway/h2/priority"

// jxlMark begins a codestream that stands in no box.
const jxlMark = "\xff\x0a"

const (
	// jxlHead is enough for the size and how colours are stored.
	jxlHead = 32
	// What browsers that show JPEG XL early need for it, and for a picture to
	// which little is added, as shares of the file.
	jxlPreview = 20
	jxlGood    = 55
)

func openJXL(head []byte, total int64) (walker, priority.Phase) {
	if string(head) == jxlMark {
		return openCodestream(jxlHead-int64(len(head)), total)
	}
	b := &boxes{enter: func(kind string, size int64) (int64, walker, priority.Phase) {
		switch kind {
		case "JXL ", "ftyp", "jxll":
			return size, nil, 0
		case "jxlc", "jxlp":
			then, phase := openCodestream(jxlHead, total)
			return 0, then, phase
		}
		return 0, rows{}, priority.Body
	}}
	b.have = copy(b.head[:], head)
	return b, priority.Header
}

// openCodestream is about what follows, of which the first bytes are header.
// Where the length is not known there is nothing to take a share of.
func openCodestream(header, total int64) (walker, priority.Phase) {
	if total < 0 {
		return lay(part{priority.Header, header}, part{phase: priority.Body})
	}
	return lay(
		part{priority.Header, header},
		part{priority.Preview, total*jxlPreview/100 - header},
		part{priority.Good, total * (jxlGood - jxlPreview) / 100},
		part{phase: priority.Rest})
}
