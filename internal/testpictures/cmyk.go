package testpictures

import (
	"image"
	"image/color"
	"math"
)

// CMYK separates the scene into inks, black taken out fully.
func CMYK(w, h int) *image.CMYK {
	scene := Scene(w, h)
	out := image.NewCMYK(scene.Rect)
	for y := range h {
		for x := range w {
			c := scene.NRGBAAt(x, y)
			cc, m, ye, k := color.RGBToCMYK(c.R, c.G, c.B)
			out.SetCMYK(x, y, color.CMYK{C: cc, M: m, Y: ye, K: k})
		}
	}
	return out
}

// CMYKKind is how a JPEG stores four inks.
type CMYKKind int

// The kinds met in the wild. Adobe's programs store inks inverted, and say so
// by nothing but the presence of their APP14 marker, if by that.
const (
	AdobeCMYK CMYKKind = iota // transform 0, inverted
	AdobeYCCK                 // transform 2: the three colours as YCbCr, all inverted
	PlainCMYK                 // no marker, inverted all the same, as browsers take it
)

// CMYKJPEG encodes inks as a baseline JPEG of four components without
// subsampling. The standard library reads such files but does not write them.
func CMYKJPEG(img *image.CMYK, kind CMYKKind, segments ...Segment) []byte {
	e := &cmykEncoder{img: img, kind: kind, dc: flatTable(4, 12), ac: flatTable(9, 256), cosine: cosines()}
	e.out = []byte{0xff, 0xd8}
	if kind != PlainCMYK {
		transform := byte(0)
		if kind == AdobeYCCK {
			transform = 2
		}
		e.out = appendSegment(e.out, 0xee, append([]byte("Adobe\x00\x64\x00\x00\x00\x00"), transform))
	}
	for _, s := range segments {
		e.out = appendSegment(e.out, s.Marker, s.Data)
	}
	e.headers()
	e.scan()
	return append(e.out, 0xff, 0xd9)
}

type cmykEncoder struct {
	img  *image.CMYK
	kind CMYKKind
	out  []byte
	bits bitWriter

	dc, ac huffman
	cosine [8][8]float64
}

// quantum divides every coefficient; a flat table of 4 keeps the error of a
// sample within two or three levels.
const quantum = 4

func (e *cmykEncoder) headers() {
	w, h := e.img.Rect.Dx(), e.img.Rect.Dy()
	table := make([]byte, 65)
	for i := 1; i < 65; i++ {
		table[i] = quantum
	}
	e.out = appendSegment(e.out, 0xdb, table)
	frame := []byte{8, byte(h >> 8), byte(h), byte(w >> 8), byte(w), 4}
	scan := []byte{4}
	for id := byte(1); id <= 4; id++ {
		frame = append(frame, id, 0x11, 0)
		scan = append(scan, id, 0)
	}
	e.out = appendSegment(e.out, 0xc0, frame)
	e.out = appendSegment(e.out, 0xc4, append(append([]byte{0x00}, e.dc.counts[:]...), e.dc.symbols...))
	e.out = appendSegment(e.out, 0xc4, append(append([]byte{0x10}, e.ac.counts[:]...), e.ac.symbols...))
	e.out = appendSegment(e.out, 0xda, append(scan, 0, 63, 0))
}

func (e *cmykEncoder) scan() {
	w, h := e.img.Rect.Dx(), e.img.Rect.Dy()
	var last [4]int
	for y := 0; y < h; y += 8 {
		for x := 0; x < w; x += 8 {
			for band := range 4 {
				last[band] = e.block(x, y, band, last[band])
			}
		}
	}
	e.out = append(e.out, e.bits.finish()...)
}

// block writes one 8 x 8 block and returns its DC coefficient.
func (e *cmykEncoder) block(x, y, band, lastDC int) int {
	var samples [64]float64
	for i := range samples {
		px := min(x+i%8, e.img.Rect.Dx()-1)
		py := min(y+i/8, e.img.Rect.Dy()-1)
		samples[i] = e.sample(px, py, band) - 128
	}
	coefficients := e.forwardDCT(samples)
	dc := coefficients[0]
	size := bitSize(dc - lastDC)
	e.bits.code(e.dc, byte(size))
	e.bits.signed(dc-lastDC, size)
	run := 0
	for k := 1; k < 64; k++ {
		v := coefficients[zigzag[k]]
		if v == 0 {
			run++
			continue
		}
		for ; run > 15; run -= 16 {
			e.bits.code(e.ac, 0xf0)
		}
		size := bitSize(v)
		e.bits.code(e.ac, byte(run<<4|size))
		e.bits.signed(v, size)
		run = 0
	}
	if run > 0 {
		e.bits.code(e.ac, 0x00)
	}
	return dc
}

// sample is the stored level of a band, which depends on the kind.
func (e *cmykEncoder) sample(x, y, band int) float64 {
	c := e.img.CMYKAt(x, y)
	inks := [4]uint8{c.C, c.M, c.Y, c.K}
	switch {
	case e.kind != AdobeYCCK || band == 3:
		return float64(255 - inks[band])
	}
	// A decoder turns YCbCr to RGB, takes that as inverted inks and inverts
	// them again because of the marker: RGB here is the inks themselves.
	yy, cb, cr := color.RGBToYCbCr(c.C, c.M, c.Y)
	return float64([3]uint8{yy, cb, cr}[band])
}

// cosines has at [u][x] the basis of the DCT with its norm.
func cosines() (t [8][8]float64) {
	for u := range 8 {
		norm := 0.5
		if u == 0 {
			norm = math.Sqrt(0.125)
		}
		for x := range 8 {
			t[u][x] = norm * math.Cos(float64(2*x+1)*float64(u)*math.Pi/16)
		}
	}
	return t
}

// forwardDCT transforms and quantises one block (ITU T.81, A.3.3).
func (e *cmykEncoder) forwardDCT(s [64]float64) (out [64]int) {
	var rows [64]float64
	for y := range 8 {
		for u := range 8 {
			for x := range 8 {
				rows[y*8+u] += e.cosine[u][x] * s[y*8+x]
			}
		}
	}
	for v := range 8 {
		for u := range 8 {
			var sum float64
			for y := range 8 {
				sum += e.cosine[v][y] * rows[y*8+u]
			}
			out[v*8+u] = int(math.Round(sum / quantum))
		}
	}
	return out
}
