package priority

import "strings"

// bareItem reads one value of structured fields (RFC 9651, 4.2.3.1).
func (p *parser) bareItem() (item, bool) {
	switch c := p.peek(); {
	case c == '-' || isDigit(c):
		return p.number()
	case c == '?':
		return p.boolean()
	case c == '"':
		return item{}, p.text()
	case c == ':':
		return item{}, p.bytes()
	case c == '@':
		return item{}, p.date()
	case c == '%':
		return item{}, p.displayText()
	case c == '*' || isAlpha(c):
		p.while(isTokenByte)
		return item{}, true
	default:
		return item{}, false
	}
}

// number reads an integer of at most 15 digits, or a decimal of 12 and 3.
func (p *parser) number() (item, bool) {
	negative := p.take('-')
	digits := p.while(isDigit)
	if p.take('.') {
		fraction := p.while(isDigit)
		return item{}, len(digits) >= 1 && len(digits) <= 12 && len(fraction) >= 1 && len(fraction) <= 3
	}
	if len(digits) < 1 || len(digits) > 15 {
		return item{}, false
	}
	var n int64
	for _, c := range []byte(digits) {
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return item{kind: integer, n: n}, true
}

func (p *parser) boolean() (item, bool) {
	p.take('?')
	switch {
	case p.take('1'):
		return item{kind: boolean, n: 1}, true
	case p.take('0'):
		return item{kind: boolean}, true
	default:
		return item{}, false
	}
}

// text reads a string: printable ASCII, with a backslash before " and \.
func (p *parser) text() bool {
	p.take('"')
	for p.rest != "" {
		c := p.rest[0]
		p.rest = p.rest[1:]
		switch {
		case c == '"':
			return true
		case c == '\\':
			if !p.take('"') && !p.take('\\') {
				return false
			}
		case c < 0x20 || c > 0x7e:
			return false
		}
	}
	return false
}

// bytes reads base64 between colons; nobody wants to know what it decodes to.
func (p *parser) bytes() bool {
	p.take(':')
	p.while(func(c byte) bool {
		return isAlpha(c) || isDigit(c) || c == '+' || c == '/' || c == '='
	})
	return p.take(':')
}

func (p *parser) date() bool {
	p.take('@')
	v, ok := p.number()
	return ok && v.kind == integer
}

// displayText reads a string of which other bytes than ASCII's come as %xx.
func (p *parser) displayText() bool {
	p.take('%')
	if !p.take('"') {
		return false
	}
	for p.rest != "" {
		c := p.rest[0]
		p.rest = p.rest[1:]
		switch {
		case c == '"':
			return true
		case c == '%':
			if len(p.rest) < 2 || !isLowerHex(p.rest[0]) || !isLowerHex(p.rest[1]) {
				return false
			}
			p.rest = p.rest[2:]
		case c < 0x20 || c > 0x7e:
			return false
		}
	}
	return false
}

func isLowerHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' }

func isTokenByte(c byte) bool {
	return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
}
