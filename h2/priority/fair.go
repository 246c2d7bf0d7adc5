package priority

// unit is a byte of a stream of weight 1 in virtual time.
const unit = 1 << 16

// fair shares bytes in proportion to weights, exactly: whatever the weights and
// the sizes of frames, of streams that are always ready none is ever more than
// one whole frame behind or ahead of its share.
//
// Each stream has a start: the virtual time at which its next byte is due. A
// byte moves it on by unit/weight. Virtual time is the mean of the starts, each
// counted by its weight, but never goes back. Streams that start later than
// now have had more than their share; they wait in early. Of the others, the
// one whose next frame, if it is a whole one, should end first is served.
// (The rule is that of worst-case fair weighted fair queueing, WF2Q; the mean
// as its clock is that of EEVDF, since streams come and go. Ends alone, which is
// plain WFQ, let heavy streams run ahead of their share by many frames.)
//
// None is ahead by more than a frame, since only those are served that are not
// ahead. None is behind by more: take a frame that should end at e, and before
// it the last one that should end later, chosen at t. All frames in between
// start after t and should end by e, so that they are no more than all shares
// from t to e; only that one other frame makes this one late.
//
// Keys are plain numbers. They last for 2^48 bytes of a stream that has weight 1
// and the class for itself, and for longer in any other.
type fair struct {
	due    heap // may be served, by when their next frame should be over
	early  heap // may not, by their start
	weight int64
	now    uint64 // virtual time
	// owed is the sum over all streams of what each is behind its share, in
	// units: weight * (now - start). It is 0 where now is the exact mean, above
	// where the mean has gone back, and below by less than a tick of the clock.
	owed int64
}

func (f *fair) len() int { return len(f.due) + len(f.early) }

// pick is the stream whose turn it is. There is one: they cannot all start
// later than the mean of their starts. Streams that have become due move over,
// each once for each time that it was served: O(log n), amortised.
func (f *fair) pick(t *table) *Stream {
	for len(f.early) > 0 && int64(f.early[0].key-f.now) <= 0 {
		st := t.streams[f.early[0].handle]
		f.early.remove(t, st)
		f.enter(t, st)
	}
	return t.streams[f.due[0].handle]
}

// join takes in a stream whose start is its last one of this class, or now. It
// keeps what it has had beyond its share; what it has missed while it was not
// here was not its own.
func (f *fair) join(t *table, st *Stream) {
	if !st.started || int64(st.start-f.now) < 0 {
		st.started, st.start, st.part = true, f.now, 0
	}
	f.weight += int64(st.params.Weight)
	f.owed += f.lag(st)
	f.advance()
	f.enter(t, st)
}

func (f *fair) leave(t *table, st *Stream) {
	f.exit(t, st)
	f.weight -= int64(st.params.Weight)
	f.owed -= f.lag(st)
	f.advance()
}

// reweigh lets a stream that is not here now be ahead of its share by as many
// bytes as before, when its weight will be another.
func (f *fair) reweigh(st *Stream, weight uint16) {
	if ahead := int64(st.start - f.now); st.started && ahead > 0 {
		st.start = f.now + uint64(ahead)*uint64(st.params.Weight)/uint64(weight)
		st.part = 0
	}
}

func (f *fair) sent(t *table, st *Stream, n int64) {
	f.owed -= n * unit
	f.advance()
	f.charge(st, n)
	if st.place == inDue && int64(st.start-f.now) <= 0 {
		f.due.rekey(t, st)
		return
	}
	f.exit(t, st)
	f.enter(t, st)
}

// charge moves a stream's start on by what it has had.
func (f *fair) charge(st *Stream, n int64) {
	w := uint64(st.params.Weight)
	total := uint64(n)*unit + uint64(st.part)
	st.start += total / w
	st.part = uint32(total % w)
}

// lag is what a stream is behind its share, in units.
func (f *fair) lag(st *Stream) int64 {
	return int64(f.now-st.start)*int64(st.params.Weight) - int64(st.part)
}

// advance moves virtual time on to the mean of the starts.
func (f *fair) advance() {
	if f.weight == 0 || f.owed > -f.weight {
		return
	}
	ticks := -f.owed / f.weight
	f.now += uint64(ticks)
	f.owed += ticks * f.weight
}

func (f *fair) enter(t *table, st *Stream) {
	if int64(st.start-f.now) > 0 {
		st.place = inEarly
		f.early.push(t, st)
		return
	}
	st.place = inDue
	f.due.push(t, st)
}

func (f *fair) exit(t *table, st *Stream) {
	if st.place == inDue {
		f.due.remove(t, st)
	} else {
		f.early.remove(t, st)
	}
}
