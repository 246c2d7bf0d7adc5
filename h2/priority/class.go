package priority

// class holds the ready streams of one effective urgency and one phase.
type class struct {
	fair  bool
	table *table
	turn  heap // non-incremental streams, in the order of their IDs
	short heap // incremental streams, if not fair: the shortest first
	share fair // incremental streams, if fair

	// lead is by how many bytes the non-incremental streams are ahead of the
	// incremental ones, since both have been there.
	lead int64

	// The same streams by how long each has waited.
	turnWaiting, mixedWaiting list
}

func (c *class) empty() bool { return len(c.turn) == 0 && c.interleaved() == 0 }

func (c *class) interleaved() int { return len(c.short) + c.share.len() }

// pick is the stream whose turn it is. There is one.
func (c *class) pick() *Stream {
	switch {
	case c.interleaved() == 0 || len(c.turn) > 0 && c.lead <= 0:
		return c.table.streams[c.turn[0].handle]
	case c.fair:
		return c.share.pick(c.table)
	default:
		return c.table.streams[c.short[0].handle]
	}
}

func (c *class) add(st *Stream) {
	c.waiting(st).append(st)
	switch {
	case !st.params.Incremental:
		st.place = inTurn
		c.turn.push(c.table, st)
	case c.fair:
		c.share.join(c.table, st)
	default:
		st.place = inShort
		c.short.push(c.table, st)
	}
}

func (c *class) remove(st *Stream) {
	c.waiting(st).remove(st)
	switch st.place {
	case inTurn:
		c.turn.remove(c.table, st)
	case inShort:
		c.short.remove(c.table, st)
	default:
		c.share.leave(c.table, st)
	}
	st.place = nowhere
	if len(c.turn) == 0 || c.interleaved() == 0 {
		c.lead = 0
	}
}

// sent re-keys a stream of which n bytes have gone.
func (c *class) sent(st *Stream, n int64) {
	waiting := c.waiting(st)
	waiting.remove(st)
	waiting.append(st)
	if st.place == inTurn {
		c.charge(n)
		return
	}
	c.charge(-n)
	if st.place == inShort {
		c.short.rekey(c.table, st)
		return
	}
	c.share.sent(c.table, st, n)
}

func (c *class) charge(n int64) {
	if len(c.turn) > 0 && c.interleaved() > 0 {
		c.lead += n
	}
}

func (c *class) waiting(st *Stream) *list {
	if st.params.Incremental {
		return &c.mixedWaiting
	}
	return &c.turnWaiting
}

// longestWaiting is the stream of the class that the floor would serve, nil if
// none. Those that share by weights while the class is served do not need it:
// they have a promise already, which the floor would break.
func (c *class) longestWaiting(served bool) *Stream {
	turn, mixed := c.turnWaiting.first, c.mixedWaiting.first
	if c.fair && served {
		mixed = nil
	}
	if turn == nil || mixed != nil && mixed.served < turn.served {
		return mixed
	}
	return turn
}
