package visitor

import (
	"slices"

	"golang.org/x/net/http2"
)

// weights are those of Chromium for urgencies 0 to 4, less one, as on the wire.
var weights = [...]uint8{255, 219, 182, 146, 109}

// chain is the order of Chromium's open streams: each depends, alone, on the
// last one that is at least as urgent.
type chain struct{ links [len(weights)][]uint32 }

// add appends a stream and gives what its HEADERS say.
func (c *chain) add(stream uint32, urgency uint8) http2.PriorityParam {
	p := http2.PriorityParam{Exclusive: true, Weight: weights[urgency]}
	for u := int(urgency); u >= 0; u-- {
		if same := c.links[u]; len(same) > 0 {
			p.StreamDep = same[len(same)-1]
			break
		}
	}
	c.links[urgency] = append(c.links[urgency], stream)
	return p
}

// remove forgets a stream that has ended.
func (c *chain) remove(stream uint32, urgency uint8) {
	c.links[urgency] = slices.DeleteFunc(c.links[urgency], func(id uint32) bool { return id == stream })
}
