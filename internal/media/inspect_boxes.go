package media

import "encoding/binary"

// box is one ISO base media box.
type box struct {
	kind string
	body []byte
	end  int // position behind it
}

// nextBox reads the box at at. ok is false when it has no sound header or runs
// past the end of src.
func nextBox(src []byte, at int) (b box, ok bool) {
	if at+8 > len(src) {
		return box{}, false
	}
	size, header := uint64(binary.BigEndian.Uint32(src[at:])), uint64(8)
	b.kind = string(src[at+4 : at+8])
	rest := uint64(len(src) - at)
	switch size {
	case 0: // up to the end of the file
		size = rest
	case 1:
		if rest < 16 {
			return b, false
		}
		size, header = binary.BigEndian.Uint64(src[at+8:]), 16
	}
	if size < header || size > rest {
		return b, false
	}
	b.end = at + int(size)
	b.body = src[at+int(header) : b.end]
	return b, true
}

// examineHEIF walks the top-level boxes of AVIF and HEIC and reads the sizes
// that the properties announce.
func examineHEIF(src []byte, format Format, limits Limits) (Findings, error) {
	var found Findings
	described, data := false, false
	for at := 0; at < len(src); {
		b, ok := nextBox(src, at)
		if !ok && described && data && !isFileBox(b.kind) {
			break // cameras append trailers of their own
		}
		if !ok {
			return found, truncated(format, len(src))
		}
		switch b.kind {
		case "meta":
			described = true
			if err := found.heifMeta(b.body, format, limits); err != nil {
				return found, err
			}
		case "moov":
			described = true
		case "mdat":
			data = true
		}
		at = b.end
	}
	if !described {
		return found, truncated(format, len(src))
	}
	return found, nil
}

// isFileBox tells the boxes that an HEIF file is made of from what may be
// appended to it.
func isFileBox(kind string) bool {
	switch kind {
	case "ftyp", "meta", "mdat", "moov", "moof", "free", "skip", "idat", "uuid":
		return true
	}
	return false
}

// heifMeta reads meta > iprp > ipco > ispe.
func (f *Findings) heifMeta(meta []byte, format Format, limits Limits) error {
	if len(meta) < 4 {
		return broken(format, "its description is too short")
	}
	return eachBox(meta[4:], format, func(b box) error { // behind version and flags
		if b.kind != "iprp" {
			return nil
		}
		return eachBox(b.body, format, func(b box) error {
			if b.kind != "ipco" {
				return nil
			}
			return eachBox(b.body, format, func(b box) error { return f.heifProperty(b, format, limits) })
		})
	})
}

func (f *Findings) heifProperty(b box, format Format, limits Limits) error {
	if b.kind != "ispe" {
		return nil
	}
	if len(b.body) < 12 {
		return broken(format, "a size is too short")
	}
	width, height := binary.BigEndian.Uint32(b.body[4:]), binary.BigEndian.Uint32(b.body[8:])
	return f.seen(int(width), int(height), limits)
}

// eachBox calls visit for the boxes within a box.
func eachBox(body []byte, format Format, visit func(box) error) error {
	for at := 0; at < len(body); {
		b, ok := nextBox(body, at)
		if !ok {
			return broken(format, "a box within it runs past its end")
		}
		if err := visit(b); err != nil {
			return err
		}
		at = b.end
	}
	return nil
}

// examineJP2 finds the codestream and reads its size marker: ITU T.800 A.5.1.
func examineJP2(src []byte, limits Limits) (Findings, error) {
	var found Findings
	stream := src
	if src[0] != 0xff {
		stream = nil
		for at := 0; at < len(src) && stream == nil; {
			b, ok := nextBox(src, at)
			if !ok {
				return found, truncated(JP2, len(src))
			}
			if b.kind == "jp2c" {
				stream = b.body
			}
			at = b.end
		}
	}
	if len(stream) < 40 || binary.BigEndian.Uint32(stream) != 0xff4fff51 {
		return found, truncated(JP2, len(src))
	}
	right, bottom := int64(binary.BigEndian.Uint32(stream[8:])), int64(binary.BigEndian.Uint32(stream[12:]))
	left, top := int64(binary.BigEndian.Uint32(stream[16:])), int64(binary.BigEndian.Uint32(stream[20:]))
	if right <= left || bottom <= top {
		return found, broken(JP2, "it has no size")
	}
	return found, found.seen(int(right-left), int(bottom-top), limits)
}
