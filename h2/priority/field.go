package priority

// ParseField reads the value of a priority field or of a PRIORITY_UPDATE frame
// (RFC 9218, 4): a dictionary of structured fields (RFC 9651, 4.2.2) of which u
// and i count. Other keys are skipped; of a key that comes twice the last
// counts; a value of another type, or out of range, is as if the key were not
// there. What is no dictionary is no wish at all, and any input may be given.
// It does not allocate. The lines of a field that came in several are joined
// with a comma first.
func ParseField(value string) Wish {
	p := parser{rest: value}
	w, ok := p.dictionary()
	if !ok {
		return NoWish()
	}
	return w
}

// item is the bare item of a member, as far as anybody wants to know it.
type item struct {
	kind kind
	n    int64 // of an integer; of a boolean 0 or 1
}

type kind uint8

const (
	other kind = iota
	integer
	boolean
)

// parser eats rest from its front.
type parser struct{ rest string }

func (p *parser) dictionary() (Wish, bool) {
	w := NoWish()
	p.skip(" ")
	for p.rest != "" {
		if !p.member(&w) {
			return w, false
		}
		p.skip(" \t")
		if p.rest == "" {
			return w, true
		}
		if !p.take(',') {
			return w, false
		}
		p.skip(" \t")
		if p.rest == "" {
			return w, false // a comma at the end
		}
	}
	return w, true
}

// member reads "key", "key=item" or "key=(list)", each with parameters.
func (p *parser) member(w *Wish) bool {
	key, ok := p.key()
	if !ok {
		return false
	}
	value := item{kind: boolean, n: 1}
	if p.take('=') {
		if value, ok = p.itemOrList(); !ok {
			return false
		}
	}
	w.set(key, value)
	return p.parameters()
}

// set keeps what a member means. A value without meaning takes the place of an
// earlier one of the same key.
func (w *Wish) set(key string, v item) {
	switch key {
	case "u":
		w.Urgency = -1
		if v.kind == integer && v.n >= 0 && v.n <= LeastUrgent {
			w.Urgency = int8(v.n)
		}
	case "i":
		w.Incremental = -1
		if v.kind == boolean {
			w.Incremental = int8(v.n)
		}
	}
}

func (p *parser) itemOrList() (item, bool) {
	if !p.take('(') {
		return p.bareItem()
	}
	for {
		p.skip(" ")
		if p.take(')') {
			return item{}, true
		}
		if _, ok := p.bareItem(); !ok || !p.parameters() {
			return item{}, false
		}
		if next := p.peek(); next != ' ' && next != ')' {
			return item{}, false
		}
	}
}

// parameters reads what follows a member or an item: ";key" or ";key=item".
func (p *parser) parameters() bool {
	for p.take(';') {
		p.skip(" ")
		if _, ok := p.key(); !ok {
			return false
		}
		if p.take('=') {
			if _, ok := p.bareItem(); !ok {
				return false
			}
		}
	}
	return true
}

func (p *parser) key() (string, bool) {
	if c := p.peek(); !isLower(c) && c != '*' {
		return "", false
	}
	return p.while(func(c byte) bool {
		return isLower(c) || isDigit(c) || c == '_' || c == '-' || c == '.' || c == '*'
	}), true
}

// peek is the next byte, 0 at the end: no rule accepts a 0.
func (p *parser) peek() byte {
	if p.rest == "" {
		return 0
	}
	return p.rest[0]
}

func (p *parser) take(c byte) bool {
	if p.peek() != c || p.rest == "" {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *parser) while(is func(byte) bool) string {
	n := 0
	for n < len(p.rest) && is(p.rest[n]) {
		n++
	}
	eaten := p.rest[:n]
	p.rest = p.rest[n:]
	return eaten
}

func (p *parser) skip(set string) {
	for p.rest != "" && (p.rest[0] == set[0] || p.rest[0] == set[len(set)-1]) {
		p.rest = p.rest[1:]
	}
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isAlpha(c byte) bool { return isLower(c | 0x20) }
