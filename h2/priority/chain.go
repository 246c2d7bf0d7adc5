package priority

// Chain recognises how Chromium uses the priorities of RFC 7540, and only it:
// all its streams are one chain of exclusive dependencies, the most urgent
// first, and the weight tells the urgency. That matters because Chromium never
// sends PRIORITY_UPDATE: that a picture has come into view, it says by a
// PRIORITY frame. The zero Chain has seen nothing; it needs a few bytes,
// whatever a client sends.
type Chain struct {
	highest uint32 // stream seen, either as a link or as what one depends on
	begun   bool
	broken  bool
}

// Observe takes the priority of a HEADERS frame or a PRIORITY frame, in the
// order of their arrival, with the weight as RFC 7540 counts it, 1 to 256. It
// is known what the weight means while all that the connection has sent could
// be Chromium's: the first link depends on nothing, each is exclusive, depends
// on a stream that was there before, and has one of its weights. After the
// first that is not so, nothing is known any more.
func (c *Chain) Observe(stream, dependsOn uint32, exclusive bool, weight int) (urgency uint8, known bool) {
	if c.broken {
		return 0, false
	}
	urgency, known = chainUrgency(weight)
	known = known && exclusive && stream != dependsOn && c.linked(dependsOn)
	if !known {
		c.broken = true
		return 0, false
	}
	c.begun = true
	c.highest = max(c.highest, stream)
	return urgency, true
}

// linked reports whether the chain could have had that stream before now.
func (c *Chain) linked(dependsOn uint32) bool {
	if dependsOn == 0 {
		return true
	}
	return c.begun && dependsOn%2 == 1 && dependsOn <= c.highest
}

// chainUrgency maps the weights back that Chromium computes from urgencies:
// the whole part of 255.9/7*(7-u), and one. It uses 0 to 4, and 5 for requests
// which it holds back.
func chainUrgency(weight int) (uint8, bool) {
	switch weight {
	case 256:
		return 0, true
	case 220:
		return 1, true
	case 183:
		return 2, true
	case 147:
		return 3, true
	case 110:
		return 4, true
	case 74:
		return 5, true
	default:
		return 0, false
	}
}
