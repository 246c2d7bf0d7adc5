package placeholder

import (
	"encoding/base64"
	"math"
)

// ThumbHash is the hash in base64, as its readers take it. The format is by
// Evan Wallace (https://evanw.github.io/thumbhash/): the means and the lowest
// cosine terms of lightness, two colour differences and, where there is any
// transparency, alpha, all quantised to a few bits.
func (p Picture) ThumbHash() string {
	return base64.StdEncoding.EncodeToString(p.thumbHash())
}

// Terms kept along the longer side. Alpha takes its bits from lightness.
const (
	lightnessTerms      = 7
	lightnessTermsAlpha = 5
	colourTerms         = 3
	alphaTerms          = 5
)

func (p Picture) thumbHash() []byte {
	planes, clear := p.planes()
	limit := lightnessTerms
	if clear {
		limit = lightnessTermsAlpha
	}
	longer := float64(max(p.width, p.height))
	across := max(1, round(float64(limit*p.width)/longer))
	down := max(1, round(float64(limit*p.height)/longer))

	spectra := []spectrum{
		p.spectrum(planes[0], max(3, across), max(3, down)),
		p.spectrum(planes[1], colourTerms, colourTerms),
		p.spectrum(planes[2], colourTerms, colourTerms),
	}
	if clear {
		spectra = append(spectra, p.spectrum(planes[3], alphaTerms, alphaTerms))
	}
	shorter, landscape := across, p.width > p.height
	if landscape {
		shorter = down
	}
	return pack(spectra, shorter, landscape)
}

// pack writes the fixed fields, then the terms.
func pack(spectra []spectrum, shorter int, landscape bool) []byte {
	var bits packer
	light, yellow, red, clear := spectra[0], spectra[1], spectra[2], len(spectra) > 3
	bits.put(light.mean, 0, 1, 6)
	bits.put(yellow.mean, -1, 1, 6)
	bits.put(red.mean, -1, 1, 6)
	bits.put(light.scale, 0, 1, 5)
	bits.flag(clear)
	bits.add(shorter, 3)
	bits.put(yellow.scale, 0, 1, 6)
	bits.put(red.scale, 0, 1, 6)
	bits.flag(landscape)
	if clear {
		bits.put(spectra[3].mean, 0, 1, 4)
		bits.put(spectra[3].scale, 0, 1, 4)
	}
	for _, s := range spectra {
		for _, term := range s.terms {
			bits.put(term, -s.scale, s.scale, 4)
		}
	}
	return bits.packed
}

// planes are lightness, yellow against blue, red against green, and alpha, with
// the picture laid on its own mean colour, so that what is clear adds no edge.
func (p Picture) planes() (planes [4][]float64, clear bool) {
	mean, opacity := p.mean()
	n := p.width * p.height
	for i := range planes {
		planes[i] = make([]float64, n)
	}
	for i := range n {
		alpha := float64(p.pixels[4*i+3]) / 255
		var on [3]float64
		for c := range on {
			on[c] = mean[c]*(1-alpha) + alpha/255*float64(p.pixels[4*i+c])
		}
		planes[0][i] = (on[0] + on[1] + on[2]) / 3
		planes[1][i] = (on[0]+on[1])/2 - on[2]
		planes[2][i] = on[0] - on[1]
		planes[3][i] = alpha
	}
	return planes, opacity < float64(n)
}

// mean is the mean colour by opacity, 0 to 1, and the sum of all alphas.
func (p Picture) mean() (colour [3]float64, opacity float64) {
	for i := 0; i < len(p.pixels); i += 4 {
		alpha := float64(p.pixels[i+3]) / 255
		for c := range colour {
			colour[c] += alpha / 255 * float64(p.pixels[i+c])
		}
		opacity += alpha
	}
	if opacity > 0 {
		for c := range colour {
			colour[c] /= opacity
		}
	}
	return colour, opacity
}

// spectrum is a plane by its cosine terms; scale is the largest of them.
type spectrum struct {
	mean, scale float64
	terms       []float64
}

// noise is what rounding leaves of a wave that is not there; the terms of a
// plain picture must not depend on it.
const noise = 1e-9

// spectrum keeps the terms in the triangle of the lowest frequencies.
func (p Picture) spectrum(plane []float64, across, down int) spectrum {
	var s spectrum
	lines, rows := p.lines(plane, across), cosines(down, p.height)
	for v := range down {
		for u := 0; u*down < across*(down-v); u++ {
			term := dot(lines[u], rows[v]) / float64(len(plane))
			if math.Abs(term) < noise {
				term = 0
			}
			if u == 0 && v == 0 {
				s.mean = term
				continue
			}
			s.terms = append(s.terms, term)
			s.scale = max(s.scale, math.Abs(term))
		}
	}
	return s
}

// lines are how much of each wave there is in each line of a plane.
func (p Picture) lines(plane []float64, across int) [][]float64 {
	lines := cosines(across, p.width)
	for u, wave := range lines {
		lines[u] = make([]float64, p.height)
		for y := range lines[u] {
			lines[u][y] = dot(plane[y*p.width:][:p.width], wave)
		}
	}
	return lines
}

func dot(line, wave []float64) (sum float64) {
	for i, v := range line {
		sum += v * wave[i]
	}
	return sum
}

// cosines are the first waves along a side of so many pixels.
func cosines(count, pixels int) [][]float64 {
	waves := make([][]float64, count)
	for k := range waves {
		waves[k] = make([]float64, pixels)
		for i := range pixels {
			waves[k][i] = math.Cos(math.Pi / float64(pixels) * float64(k) * (float64(i) + 0.5))
		}
	}
	return waves
}

// packer puts numbers one behind the other, lowest bit first.
type packer struct {
	packed []byte
	used   int // bits
}

// put quantises a value from low to high to so many bits.
func (b *packer) put(value, low, high float64, bits int) {
	most := float64(int(1)<<bits - 1)
	if high <= low {
		b.add(0, bits) // there is but one value
		return
	}
	b.add(round(min(max((value-low)/(high-low), 0), 1)*most), bits)
}

func (b *packer) flag(set bool) {
	if set {
		b.add(1, 1)
		return
	}
	b.add(0, 1)
}

func (b *packer) add(value, bits int) {
	for i := range bits {
		if b.used%8 == 0 {
			b.packed = append(b.packed, 0)
		}
		b.packed[b.used/8] |= byte(value>>i&1) << (b.used % 8)
		b.used++
	}
}

// round is to the nearest whole number, halves upwards.
func round(v float64) int { return int(math.Floor(v + 0.5)) }
