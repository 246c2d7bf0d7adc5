package media

import "bytes"

// Strip is src without what is not needed to show it: metadata, comments,
// thumbnails, and whatever stands behind the picture. No pixel is touched. It
// is false when it cannot be done without a change to what a viewer sees (a
// colour profile other than plain sRGB, an orientation, colours that browsers
// show in another way than this program does) or when the file has something
// in it that is not understood. The result is never longer than src.
//
// src has been decoded, so its structure is known to be whole.
func Strip(src []byte, info Info) ([]byte, bool) {
	if info.Orientation > 1 || info.BitDepth > 8 || info.Colourspace != "srgb" && info.Colourspace != "gray" {
		return nil, false
	}
	strip := map[Format]func([]byte) ([]byte, bool){JPEG: stripJPEG, PNG: stripPNG, WebP: stripWebP, GIF: stripGIF}[info.Format]
	if strip == nil || Sniff(src[:min(len(src), SniffLength)]) != info.Format {
		return nil, false
	}
	out, ok := strip(src)
	return out, ok && len(out) <= len(src)
}

// KeepsOriginal tells whether the request changes nothing that is to be seen
// and asks for nothing about the file: then the original, once stripped, is as
// good an answer as the result, and the smaller of them the better one.
func (p *Plan) KeepsOriginal() bool {
	output := p.only()
	if output == nil || output.Encode.Format != p.Info.Format {
		return false
	}
	// Whatever else changes the bytes of a result is in its canonical
	// spelling; where sizes have an effect, the layout tells.
	rest := p.Request
	plain := NewRequest()
	rest.Sizes, rest.DPR, rest.Fit, rest.Gravity = plain.Sizes, plain.DPR, plain.Fit, plain.Gravity
	rest.Enlarge, rest.Format = plain.Enlarge, plain.Format
	if output.Encode.Progressive == p.Info.Progressive {
		rest.ProgressiveJPEG = plain.ProgressiveJPEG // nothing is to be changed for it
	}
	if rest.Effort == EffortEased {
		rest.Effort = EffortUsual
	}
	if rest.Canonical() != plain.Canonical() {
		return false
	}
	return p.Info.Orientation <= 1 && p.Load.Page == 0 && p.Load.Frames == max(p.Info.Frames, 1) &&
		output.Layout.keeps(p.Info.Width, p.Info.Height)
}

// only is the one output that a client gets, nil when it gets several.
func (p *Plan) only() *Output {
	var only *Output
	for i := range p.Outputs {
		if p.Outputs[i].Encode.Format == Raw {
			continue
		}
		if only != nil {
			return nil
		}
		only = &p.Outputs[i]
	}
	return only
}

// keeps tells whether a layout leaves a picture of that size as it is.
func (l Layout) keeps(width, height int) bool {
	return l.Width == width && l.Height == height && l.Crop.Width == 0 && l.Canvas.Width == 0
}

// JPEG markers that stripJPEG tells apart.
const (
	markerDHT   = 0xc4
	markerDQT   = 0xdb
	markerDRI   = 0xdd
	markerAPP0  = 0xe0
	markerAPP2  = 0xe2
	markerAPP14 = 0xee
	markerAPP15 = 0xef
	markerCOM   = 0xfe
)

// jpegStrip builds a JPEG of what of another one is needed.
type jpegStrip struct {
	out     []byte
	profile []byte
	parts   int // of the profile
}

// stripJPEG keeps tables, frame and scans, JFIF without its thumbnail, and
// Adobe's segment, which says how the colours are stored.
func stripJPEG(src []byte) ([]byte, bool) {
	s := jpegStrip{out: append(make([]byte, 0, len(src)), 0xff, markerSOI)}
	for at := 2; ; {
		marker, next := nextMarker(src, at)
		if next < 0 {
			return nil, false
		}
		if marker == markerEOI {
			return append(s.out, 0xff, markerEOI), s.parts == 0 || plainSRGB(s.profile)
		}
		body, ok := segment(src, next)
		if !ok || !s.take(marker, body) {
			return nil, false
		}
		at = next + 2 + len(body)
		if marker == markerSOS {
			end := entropyEnd(src, at)
			s.out = append(s.out, src[at:end]...)
			at = end
		}
	}
}

// take keeps, drops, or refuses one segment.
func (s *jpegStrip) take(marker byte, body []byte) bool {
	switch {
	case marker == 0xc0 || marker == 0xc1 || marker == 0xc2:
		// Three components or one, of eight bits: browsers show no others,
		// or show them otherwise.
		if len(body) < 6 || body[0] != 8 || body[5] != 1 && body[5] != 3 {
			return false
		}
		s.keep(marker, body)
	case marker == markerDHT || marker == markerDQT || marker == markerDRI || marker == markerSOS:
		s.keep(marker, body)
	case marker == markerAPP14 && bytes.HasPrefix(body, []byte("Adobe")) && len(body) >= 12:
		s.keep(marker, body[:12])
	case marker == markerAPP0 && bytes.HasPrefix(body, []byte("JFIF\x00")) && len(body) >= 14:
		s.keep(marker, append(bytes.Clone(body[:12]), 0, 0))
	case marker == markerAPP2 && bytes.HasPrefix(body, []byte(iccMarker)) && len(body) > len(iccMarker)+2:
		if s.parts++; int(body[len(iccMarker)]) != s.parts {
			return false // out of order
		}
		s.profile = append(s.profile, body[len(iccMarker)+2:]...)
	default:
		return marker >= markerAPP0 && marker <= markerAPP15 || marker == markerCOM
	}
	return true
}

// iccMarker begins the segments of a profile: ICC.1, annex B.4. The number of
// the segment and how many there are come next.
const iccMarker = "ICC_PROFILE\x00"

func (s *jpegStrip) keep(marker byte, body []byte) {
	length := len(body) + 2
	s.out = append(s.out, 0xff, marker, byte(length>>8), byte(length))
	s.out = append(s.out, body...)
}

// entropyEnd is where coded data end: at the marker behind them that is none
// of theirs, or with the file.
func entropyEnd(src []byte, at int) int {
	for at < len(src) {
		skip := bytes.IndexByte(src[at:], 0xff)
		if skip < 0 || at+skip+1 >= len(src) {
			break
		}
		at += skip
		if next := src[at+1]; next != 0 && (next < markerRST0 || next > markerRST7) {
			return at
		}
		at += 2
	}
	return len(src)
}
