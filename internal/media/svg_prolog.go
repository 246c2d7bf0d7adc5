package media

import (
	"bytes"
	"strings"
)

// maxEntities is above what drawing programs declare, a dozen.
const maxEntities = 32

// doctype allows what drawing programs write: a public identifier, and an
// internal subset with plain text entities. Everything that could expand,
// fetch, or give elements attributes that are not in the text is refused.
// ampersands is how often the document can refer to an entity.
func (d *svgDocument) doctype(raw []byte, ampersands int) error {
	begin := bytes.IndexByte(raw, '[')
	if begin < 0 {
		return nil
	}
	subset := raw[begin:]
	if bytes.IndexByte(subset, '%') >= 0 {
		return svgRefusal("declares parameter entities")
	}
	longest := 0
	for {
		at := bytes.Index(subset, []byte("<!"))
		if at < 0 {
			break
		}
		subset = subset[at:]
		length := max(tagEnd(subset), 2)
		declaration := string(subset[:length])
		subset = subset[length:]
		switch {
		case strings.HasPrefix(declaration, "<!ENTITY"):
			name, value, ok := plainEntity(declaration)
			if !ok {
				return svgRefusal("declares entities that are not plain text")
			}
			if d.entities == nil {
				d.entities = map[string]string{}
			}
			if _, declared := d.entities[name]; !declared { // the first one counts
				d.entities[name] = value
			}
			longest = max(longest, len(value))
		case strings.HasPrefix(declaration, "<!ATTLIST") && strings.ContainsAny(withoutKeywords(declaration), "#&"):
			return svgRefusal("declares default attributes that refer to something")
		}
	}
	if len(d.entities) > maxEntities || int64(longest)*int64(ampersands) > d.limits.Metadata {
		return svgRefusal("declares more than %d entities, or ones that expand to more than %d bytes", maxEntities, d.limits.Metadata)
	}
	return nil
}

// plainEntity reads <!ENTITY name "text">, where the text holds no markup and
// no further reference.
func plainEntity(declaration string) (name, value string, ok bool) {
	fields := strings.Fields(strings.TrimPrefix(declaration, "<!ENTITY"))
	quote := strings.IndexAny(declaration, `"'`)
	if len(fields) < 2 || quote < 0 || !strings.HasPrefix(fields[1], declaration[quote:quote+1]) {
		return "", "", false // SYSTEM and PUBLIC stand before their literal
	}
	value, _, ok = strings.Cut(declaration[quote+1:], declaration[quote:quote+1])
	return fields[0], value, ok && !strings.ContainsAny(value, "&<%")
}

// withoutKeywords cuts the words of an attribute declaration that begin with a
// number sign.
func withoutKeywords(declaration string) string {
	return strings.NewReplacer("#IMPLIED", "", "#REQUIRED", "", "#FIXED", "").Replace(declaration)
}

// safeEncodings are those in which the characters of markup are the bytes of
// ASCII and no other, so that the scanner and libxml2 see the same elements.
var safeEncodings = map[string]bool{
	"utf-8": true, "utf8": true, "utf-16": true, "us-ascii": true, "ascii": true, "latin1": true,
	"koi8-r": true, "koi8-u": true, "shift_jis": true, "euc-jp": true, "euc-kr": true,
	"gbk": true, "gb2312": true, "gb18030": true, "big5": true,
}

// checkInstruction looks at the XML declaration and at linked stylesheets.
func checkInstruction(raw []byte) error {
	if bytes.HasPrefix(raw, []byte("<?xml-stylesheet")) && bytes.Contains(bytes.ToLower(raw), []byte("data:")) {
		return svgRefusal("links a stylesheet that is written into the link")
	}
	if !bytes.HasPrefix(raw, []byte("<?xml ")) {
		return nil
	}
	attributes := raw[len("<?xml") : len(raw)-len("?>")]
	for {
		name, value, rest, ok := attribute(attributes)
		if !ok {
			return nil
		}
		encoding := strings.ToLower(string(value))
		safe := safeEncodings[encoding] || strings.HasPrefix(encoding, "iso-8859-") || strings.HasPrefix(encoding, "windows-125")
		if string(name) == "encoding" && !safe {
			return svgRefusal("is written in an encoding that is not accepted")
		}
		attributes = rest
	}
}
