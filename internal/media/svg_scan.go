package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode/utf16"
)

// svgScanner splits XML into tokens without copying. It is no validator: what
// it takes for an element is at least what libxml2 takes for one, because "<"
// may stand nowhere else in a well-formed document, and a document that is not
// well-formed is refused by libxml2 later.
type svgScanner struct {
	src []byte
	pos int
}

type svgKind int

const (
	svgText svgKind = iota
	svgOpen
	svgClose
	svgCDATA
	svgComment
	svgInstruction
	svgDoctype
)

// svgToken is one token; the slices point into the source.
type svgToken struct {
	kind       svgKind
	raw        []byte // the whole token
	name       []byte // of an element
	attributes []byte // the text between name and end of an open tag
	selfClosed bool
}

var (
	errSVGEnd    = errors.New("end of document")
	errSVGBroken = errors.New("not well-formed")
)

// next gives the next token. At the end it gives errSVGEnd; a token that does
// not end, or a tag without a name, is errSVGBroken.
func (s *svgScanner) next() (svgToken, error) {
	rest := s.src[s.pos:]
	if len(rest) == 0 {
		return svgToken{}, errSVGEnd
	}
	if rest[0] != '<' {
		end := bytes.IndexByte(rest, '<')
		if end < 0 {
			end = len(rest)
		}
		return s.take(svgText, end)
	}
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		return s.until(svgComment, 4, "-->")
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		return s.until(svgCDATA, 9, "]]>")
	case bytes.HasPrefix(rest, []byte("<?")):
		return s.until(svgInstruction, 2, "?>")
	case len(rest) >= 9 && bytes.EqualFold(rest[:9], []byte("<!DOCTYPE")):
		end := doctypeEnd(rest)
		if end < 0 {
			return svgToken{}, errSVGBroken
		}
		return s.take(svgDoctype, end)
	}
	return s.tag(rest)
}

func (s *svgScanner) take(kind svgKind, length int) (svgToken, error) {
	raw := s.src[s.pos : s.pos+length]
	s.pos += length
	return svgToken{kind: kind, raw: raw}, nil
}

// until takes a token that ends with the first end after its opening.
func (s *svgScanner) until(kind svgKind, opening int, end string) (svgToken, error) {
	length := bytes.Index(s.src[s.pos+opening:], []byte(end))
	if length < 0 {
		return svgToken{}, errSVGBroken
	}
	return s.take(kind, opening+length+len(end))
}

// tag takes an element's start or end.
func (s *svgScanner) tag(rest []byte) (svgToken, error) {
	end := tagEnd(rest)
	if end < 0 {
		return svgToken{}, errSVGBroken
	}
	token, _ := s.take(svgOpen, end)
	inner := token.raw[1 : end-1]
	if len(inner) > 0 && inner[0] == '/' {
		token.kind, inner = svgClose, inner[1:]
	} else if len(inner) > 0 && inner[len(inner)-1] == '/' {
		token.selfClosed, inner = true, inner[:len(inner)-1]
	}
	length := bytes.IndexAny(inner, " \t\r\n")
	if length < 0 {
		length = len(inner)
	}
	token.name, token.attributes = inner[:length], inner[length:]
	if length == 0 {
		return svgToken{}, errSVGBroken
	}
	return token, nil
}

// tagEnd finds the ">" that closes a tag, past quoted values.
func tagEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '>':
			return i + 1
		case '<':
			return -1
		case '"', '\'':
			length := bytes.IndexByte(b[i+1:], b[i])
			if length < 0 {
				return -1
			}
			i += length + 1
		}
	}
	return -1
}

// doctypeEnd finds the end of a document type declaration: past quoted
// literals, comments and instructions, and past the internal subset.
func doctypeEnd(b []byte) int {
	inside := false
	for i := len("<!DOCTYPE"); i < len(b); i++ {
		skip := 0
		switch {
		case b[i] == '"' || b[i] == '\'':
			skip = skipPast(b[i+1:], b[i:i+1]) + 1
		case bytes.HasPrefix(b[i:], []byte("<!--")):
			skip = skipPast(b[i+4:], []byte("-->")) + 4
		case bytes.HasPrefix(b[i:], []byte("<?")):
			skip = skipPast(b[i+2:], []byte("?>")) + 2
		case b[i] == '[':
			inside = true
		case b[i] == ']':
			inside = false
		case b[i] == '>' && !inside:
			return i + 1
		}
		if skip > 0 {
			i += skip - 1
		}
	}
	return -1
}

// skipPast is the length up to and with end, or all there is.
func skipPast(b, end []byte) int {
	at := bytes.Index(b, end)
	if at < 0 {
		return len(b)
	}
	return at + len(end)
}

// attribute takes the next name="value" off attributes.
func attribute(attributes []byte) (name, value, rest []byte, ok bool) {
	attributes = bytes.TrimLeft(attributes, " \t\r\n")
	equals := bytes.IndexByte(attributes, '=')
	if equals <= 0 {
		return nil, nil, nil, false
	}
	name = bytes.TrimRight(attributes[:equals], " \t\r\n")
	quoted := bytes.TrimLeft(attributes[equals+1:], " \t\r\n")
	if len(quoted) == 0 || (quoted[0] != '"' && quoted[0] != '\'') {
		return nil, nil, nil, false
	}
	end := bytes.IndexByte(quoted[1:], quoted[0])
	if end < 0 {
		return nil, nil, nil, false
	}
	return name, quoted[1 : end+1], quoted[end+2:], true
}

// localName cuts a namespace prefix off.
func localName(name []byte) []byte {
	return name[bytes.LastIndexByte(name, ':')+1:]
}

// utf8Text drops a byte order mark and turns UTF-16 into UTF-8, so that the
// scanner sees bytes it knows. ok is false for what is not markup.
func utf8Text(b []byte) (text []byte, ok bool) {
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("<\x00")):
		b = fromUTF16(b, binary.LittleEndian)
	case bytes.HasPrefix(b, []byte("\xfe\xff")), bytes.HasPrefix(b, []byte("\x00<")):
		b = fromUTF16(b, binary.BigEndian)
	}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	trimmed := bytes.TrimLeft(b, " \t\r\n")
	return b, len(trimmed) > 0 && trimmed[0] == '<'
}

// isUTF16 tells what utf8Text would convert.
func isUTF16(b []byte) bool {
	for _, mark := range []string{"\xff\xfe", "<\x00", "\xfe\xff", "\x00<"} {
		if bytes.HasPrefix(b, []byte(mark)) {
			return true
		}
	}
	return false
}

func fromUTF16(b []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}
