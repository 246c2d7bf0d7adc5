package media

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
)

// errInflated tells that inflating reached its limit.
var errInflated = errors.New("inflates beyond the limit")

func isGzip(b []byte) bool {
	return len(b) >= 3 && b[0] == 0x1f && b[1] == 0x8b && b[2] == 8
}

// inflateSome gives at most limit inflated bytes of a gzip stream, which may
// be cut off or damaged behind them.
func inflateSome(b []byte, limit int64) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(reader, limit))
}

// Markup shrinks to a fifth or a tenth, rarely to less; what shrinks more than
// svgRatio is no drawing. Small ones may be as repetitive as they like.
const (
	svgRatio = 64
	svgSmall = 4 << 20
)

// InflateSVG gives plain SVG: src itself when it is not compressed, else what
// is in it, up to the size an uncompressed source may have. Decoders are given
// its result, so that none of them inflates without bounds.
func InflateSVG(src []byte, limits Limits) ([]byte, error) {
	if !isGzip(src) {
		return src, nil
	}
	limit := min(limits.SourceBytes, max(svgSmall, svgRatio*int64(len(src))))
	plain, err := inflateSome(src, limit+1)
	if int64(len(plain)) > limit {
		return nil, svgRefusal("is compressed and holds more than %d bytes", limit)
	}
	if err != nil {
		return nil, Wrap(CodeDecodeFailed, err, "The SVG is compressed, and its data is damaged or cut off.")
	}
	return plain, nil
}

// inflatedSize is how many bytes a zlib stream holds, counted up to limit;
// errInflated beyond it. A damaged stream gives what came before the damage:
// decoders ignore such metadata too.
func inflatedSize(b []byte, limit int64) (int64, error) {
	reader, damaged := zlib.NewReader(bytes.NewReader(b))
	if damaged != nil {
		return 0, nil //nolint:nilerr // decoders pass over damaged metadata too
	}
	size, _ := io.Copy(io.Discard, io.LimitReader(reader, limit+1))
	if size > limit {
		return size, errInflated
	}
	return size, nil
}
