package media

import (
	"bytes"
	"encoding/binary"
)

// SniffLength is how many leading bytes Sniff needs to tell any format. An SVG
// may hide its root behind a longer comment: Sniff looks at up to sniffMost
// bytes where it is given more.
const (
	SniffLength = 4096
	sniffMost   = 64 << 10
)

// Sniff names the format of a file by its first bytes, and by nothing else:
// not by a name, a declared type, or text further inside. It is Unknown for
// all that Spillway does not read, HTML and video among them. A gzip stream is
// SVG when its first inflated bytes are.
func Sniff(head []byte) Format {
	head = head[:min(len(head), sniffMost)]
	for _, m := range magics {
		if len(head) >= m.offset && bytes.HasPrefix(head[m.offset:], []byte(m.bytes)) {
			return m.format
		}
	}
	switch {
	case len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		return WebP
	case isBMP(head):
		return BMP
	case len(head) >= 8 && string(head[4:8]) == "ftyp":
		return sniffBrands(head)
	case isGzip(head):
		inflated, _ := inflateSome(head, SniffLength)
		return sniffText(inflated)
	}
	return sniffText(head)
}

// magics are the formats that a fixed string tells.
var magics = []struct {
	offset int
	bytes  string
	format Format
}{
	{0, "\xff\xd8\xff", JPEG},
	{0, "\x89PNG\r\n\x1a\n", PNG},
	{0, "GIF87a", GIF},
	{0, "GIF89a", GIF},
	{0, "II*\x00", TIFF},
	{0, "MM\x00*", TIFF},
	{0, "II+\x00\x08\x00\x00\x00", TIFF}, // BigTIFF
	{0, "MM\x00+\x00\x08\x00\x00", TIFF},
	{0, "\xff\x0a", JXL},
	{0, "\x00\x00\x00\x0cJXL \r\n\x87\n", JXL},
	{0, "\x00\x00\x00\x0cjP  \r\n\x87\n", JP2},
	{0, "\xff\x4f\xff\x51\x00", JP2}, // bare codestream
	{0, "%PDF-", PDF},
	{0, "\xef\xbb\xbf%PDF-", PDF},
}

// isBMP asks for more than the two letters BM, which begin ordinary words.
func isBMP(head []byte) bool {
	if len(head) < 18 || string(head[:2]) != "BM" {
		return false
	}
	switch binary.LittleEndian.Uint32(head[14:]) {
	case 12, 16, 40, 52, 56, 64, 108, 124: // the known sizes of the second header
		return true
	}
	return false
}

// sniffBrands reads the brands of an ISO base media file. AVIF and HEIC share
// the container; the major brand decides, and where it only says "some HEIF"
// (mif1, msf1 and their kin) the compatible ones do.
func sniffBrands(head []byte) Format {
	brands := head[8:]
	if size := binary.BigEndian.Uint32(head); size >= 16 && int64(size) < int64(len(head)) {
		brands = head[8:size]
	}
	if len(brands) < 4 {
		return Unknown
	}
	if f := brandFormat(string(brands[:4])); f != Unknown {
		return f
	}
	generic := isGenericBrand(string(brands[:4]))
	for at := 8; at+4 <= len(brands); at += 4 { // 4 to 8 is the minor version
		if f := brandFormat(string(brands[at : at+4])); f != Unknown {
			return f
		}
	}
	if generic {
		return HEIC
	}
	return Unknown
}

func brandFormat(brand string) Format {
	switch brand {
	case "avif", "avis":
		return AVIF
	case "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs":
		return HEIC
	}
	return Unknown
}

func isGenericBrand(brand string) bool {
	return brand == "mif1" || brand == "mif2" || brand == "msf1" || brand == "miaf"
}

// sniffText tells SVG from other text by its root element, before which only
// comments, instructions and a document type may stand. The root's tag need
// not end within head.
func sniffText(head []byte) Format {
	text, ok := utf8Text(head)
	if !ok {
		return Unknown
	}
	scanner := svgScanner{src: text}
	for {
		if name, ok := scanner.rootName(); ok {
			if name == "svg" {
				return SVG
			}
			return Unknown
		}
		token, err := scanner.next()
		switch {
		case err != nil, token.kind == svgClose, token.kind == svgCDATA:
			return Unknown
		case token.kind == svgText && len(bytes.TrimSpace(token.raw)) > 0:
			return Unknown
		case token.kind == svgDoctype && isHTMLDoctype(token.raw):
			return Unknown
		}
	}
}

// rootName is the name of the element that begins here, if one does.
func (s *svgScanner) rootName() (name string, ok bool) {
	rest := s.src[s.pos:]
	if len(rest) < 2 || rest[0] != '<' || bytes.IndexByte([]byte("!?/"), rest[1]) >= 0 {
		return "", false
	}
	end := bytes.IndexAny(rest, " \t\r\n/>")
	if end < 0 {
		end = len(rest)
	}
	return string(localName(rest[1:end])), true
}

// isHTMLDoctype tells a web page, which may well begin with a drawing.
func isHTMLDoctype(raw []byte) bool {
	name := bytes.TrimSpace(raw[len("<!DOCTYPE"):])
	return len(name) >= 4 && bytes.EqualFold(name[:4], []byte("html"))
}
