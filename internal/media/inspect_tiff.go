package media

import (
	"encoding/binary"
	"math"
)

// TIFF tags that the check reads: TIFF 6.0, and the BigTIFF draft.
const (
	tagWidth        = 256
	tagHeight       = 257
	tagSamples      = 277
	tagStripOffsets = 273
	tagStripCounts  = 279
	tagTileWidth    = 322
	tagTileHeight   = 323
	tagTileOffsets  = 324
	tagTileCounts   = 325
)

// isReadTag tells the tags above.
func isReadTag(tag uint16) bool {
	switch tag {
	case tagWidth, tagHeight, tagSamples, tagStripOffsets, tagStripCounts,
		tagTileWidth, tagTileHeight, tagTileOffsets, tagTileCounts:
		return true
	}
	return false
}

// tiffFile reads numbers of a TIFF's byte order and width.
type tiffFile struct {
	src   []byte
	order binary.ByteOrder
	big   bool
	// strips and entries are how many may still be looked at: directories may
	// overlap, so that their sum is not bounded by the file's size.
	strips, entries int
}

// tiffField is one directory entry.
type tiffField struct {
	kind   uint16
	count  uint64
	values []byte // nil when it points outside the file
}

// examineTIFF walks the directories up to the highest page that can be asked
// for, looking for loops, sizes and data outside the file.
func examineTIFF(src []byte, limits Limits) (Findings, error) {
	var found Findings
	t := tiffFile{src: src, order: binary.LittleEndian, strips: 1 << 20, entries: 1 << 20}
	if len(src) < 16 {
		return found, truncated(TIFF, len(src))
	}
	if src[0] == 'M' {
		t.order = binary.BigEndian
	}
	t.big = t.order.Uint16(src[2:]) == 43
	at := uint64(t.order.Uint32(src[4:]))
	if t.big {
		at = t.order.Uint64(src[8:])
	}
	visited := map[uint64]bool{}
	for at != 0 && len(visited) < limits.Page {
		if visited[at] {
			return found, broken(TIFF, "its list of pages runs in a circle")
		}
		visited[at] = true
		fields, next, ok := t.directory(at)
		if !ok {
			return found, truncated(TIFF, len(src))
		}
		if err := found.tiffPage(&t, fields, limits); err != nil {
			return found, err
		}
		at = next
	}
	if len(visited) == 0 {
		return found, broken(TIFF, "it has no page")
	}
	return found, nil
}

// directory reads the entries at a position and where the next directory is.
func (t *tiffFile) directory(at uint64) (fields map[uint16]tiffField, next uint64, ok bool) {
	head, entry, word := uint64(2), uint64(12), uint64(4)
	if t.big {
		head, entry, word = 8, 20, 8
	}
	size := uint64(len(t.src))
	if at > size || size-at < head {
		return nil, 0, false
	}
	count := uint64(t.order.Uint16(t.src[at:]))
	if t.big {
		count = t.order.Uint64(t.src[at:])
	}
	if count > (size-at-head)/entry || count > uint64(t.entries) {
		return nil, 0, false
	}
	t.entries -= int(count)
	fields = make(map[uint16]tiffField)
	for i := range count {
		if tag, field := t.entry(t.src[at+head+i*entry:]); isReadTag(tag) {
			fields[tag] = field
		}
	}
	end := at + head + count*entry
	if size-end < word {
		return fields, 0, true // libtiff takes a missing pointer for the end
	}
	return fields, t.word(t.src[end:]), true
}

// word is an offset: 4 bytes, or 8 in BigTIFF.
func (t *tiffFile) word(b []byte) uint64 {
	if t.big {
		return t.order.Uint64(b)
	}
	return uint64(t.order.Uint32(b))
}

// entry reads one entry: its values stand in it when they are short enough.
func (t *tiffFile) entry(b []byte) (tag uint16, field tiffField) {
	tag, field.kind = t.order.Uint16(b), t.order.Uint16(b[2:])
	inline := b[8:12]
	field.count = t.word(b[4:])
	if t.big {
		inline = b[12:20]
	}
	width := uint64(fieldWidth(field.kind))
	if width == 0 || field.count > uint64(len(t.src))/width {
		return tag, field
	}
	length := field.count * width
	if length <= uint64(len(inline)) {
		field.values = inline[:length]
		return tag, field
	}
	if at := t.word(inline); at <= uint64(len(t.src)) && uint64(len(t.src))-at >= length {
		field.values = t.src[at : at+length]
	}
	return tag, field
}

// fieldWidth is the bytes of one value of the integer types; 0 for others.
func fieldWidth(kind uint16) int {
	switch kind {
	case 1:
		return 1
	case 3:
		return 2
	case 4, 13:
		return 4
	case 16, 18:
		return 8
	}
	return 0
}

// value is the i-th value of a field.
func (t *tiffFile) value(field tiffField, i uint64) (v uint64, ok bool) {
	width := fieldWidth(field.kind)
	if width == 0 || i >= field.count || field.values == nil {
		return 0, false
	}
	b := field.values[i*uint64(width):]
	switch width {
	case 1:
		return uint64(b[0]), true
	case 2:
		return uint64(t.order.Uint16(b)), true
	case 4:
		return uint64(t.order.Uint32(b)), true
	}
	return t.order.Uint64(b), true
}

// tiffPage checks one directory's sizes and that its data lies in the file.
func (f *Findings) tiffPage(t *tiffFile, fields map[uint16]tiffField, limits Limits) error {
	width, _ := t.value(fields[tagWidth], 0)
	height, _ := t.value(fields[tagHeight], 0)
	if width == 0 || height == 0 || width > math.MaxInt32 || height > math.MaxInt32 {
		return broken(TIFF, "a page has no size, or an impossible one")
	}
	f.Frames++
	if err := f.seen(int(width), int(height), limits); err != nil {
		return err
	}
	if samples, ok := t.value(fields[tagSamples], 0); ok && samples > 64 {
		return broken(TIFF, "a page has more than 64 channels")
	}
	if err := t.checkTile(fields, limits); err != nil {
		return err
	}
	for _, tags := range [][2]uint16{{tagStripOffsets, tagStripCounts}, {tagTileOffsets, tagTileCounts}} {
		if err := t.checkStrips(fields[tags[0]], fields[tags[1]]); err != nil {
			return err
		}
	}
	return nil
}

// checkTile bounds a tile: a decoder allocates it whole, also for a picture
// that is smaller.
func (t *tiffFile) checkTile(fields map[uint16]tiffField, limits Limits) error {
	width, _ := t.value(fields[tagTileWidth], 0)
	height, _ := t.value(fields[tagTileHeight], 0)
	if float64(width)*float64(height) > float64(limits.Pixels) {
		return Errorf(CodePixels, "The tiff file has tiles of %dx%d pixels; %d are allowed.", width, height, limits.Pixels)
	}
	return nil
}

// checkStrips checks that strips or tiles lie in the file. A missing count is
// the decoder's to guess, as libtiff does.
func (t *tiffFile) checkStrips(offsets, counts tiffField) error {
	size := uint64(len(t.src))
	if offsets.count > 0 && offsets.values == nil {
		return truncated(TIFF, len(t.src))
	}
	for i := uint64(0); i < offsets.count && t.strips > 0; i++ {
		t.strips--
		offset, _ := t.value(offsets, i)
		count, _ := t.value(counts, i)
		if offset > size || count > size-offset {
			return truncated(TIFF, len(t.src))
		}
	}
	return nil
}
