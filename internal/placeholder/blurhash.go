package placeholder

import "math"

// BlurHash has 4 components along the longer side and 3 along the other. It
// knows no transparency, so the picture is laid on white, as most pages are.
// The format is by Wolt (https://blurha.sh): the lowest cosine terms of linear
// light, each colour in two digits but the first, which is the mean in sRGB.
func (p Picture) BlurHash() string {
	across, down := 4, 3
	if p.height > p.width {
		across, down = 3, 4
	}
	terms := p.lightTerms(across, down)
	var largest float64
	for _, term := range terms[1:] {
		for _, v := range term {
			largest = max(largest, math.Abs(v))
		}
	}
	hash := digits(nil, across-1+(down-1)*9, 1)
	scale := min(max(int(math.Floor(largest*166-0.5)), 0), 82)
	hash = digits(hash, scale, 1)
	hash = digits(hash, mean24(terms[0]), 4)
	for _, term := range terms[1:] {
		hash = digits(hash, term19(term, float64(scale+1)/166), 2)
	}
	return string(hash)
}

// light is a colour in linear light, 0 to 1.
type light [3]float64

// lightTerms are the cosine terms, row by row, the mean first.
func (p Picture) lightTerms(across, down int) []light {
	lines := p.lineTerms(across)
	terms := make([]light, 0, across*down)
	for v := range down {
		row := edgeWave(v, p.height)
		for u := range across {
			norm := 2 / float64(p.width*p.height)
			if u == 0 && v == 0 {
				norm /= 2
			}
			terms = append(terms, weigh(lines[u], row, norm))
		}
	}
	return terms
}

// lineTerms are those of each line alone, by wave: a term of the picture is
// that of a column of them.
func (p Picture) lineTerms(across int) [][]light {
	pixels := p.linear()
	lines := make([][]light, across)
	for u := range lines {
		column := edgeWave(u, p.width)
		lines[u] = make([]light, p.height)
		for y := range lines[u] {
			lines[u][y] = weigh(pixels[y*p.width:][:p.width], column, 1)
		}
	}
	return lines
}

func weigh(line []light, wave []float64, norm float64) (sum light) {
	for i, colour := range line {
		weight := norm * wave[i]
		sum[0] += weight * colour[0]
		sum[1] += weight * colour[1]
		sum[2] += weight * colour[2]
	}
	return sum
}

// edgeWave is taken at the left edge of each pixel, as the format says, not in
// its middle.
func edgeWave(k, pixels int) []float64 {
	wave := make([]float64, pixels)
	for i := range wave {
		wave[i] = math.Cos(math.Pi * float64(k) * float64(i) / float64(pixels))
	}
	return wave
}

// linear lays the picture on white and undoes the curve of sRGB.
func (p Picture) linear() []light {
	var curve [256]float64
	for i := range curve {
		curve[i] = toLinear(float64(i) / 255)
	}
	pixels := make([]light, p.width*p.height)
	for i := range pixels {
		at := p.pixels[4*i:][:4]
		alpha := int(at[3])
		for c := range 3 {
			pixels[i][c] = curve[(int(at[c])*alpha+255*(255-alpha)+127)/255]
		}
	}
	return pixels
}

// toLinear and fromLinear are the curve of IEC 61966-2-1.
func toLinear(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

func fromLinear(v float64) float64 {
	if v <= 0.0031308 {
		return v * 12.92
	}
	return 1.055*math.Pow(v, 1/2.4) - 0.055
}

// mean24 is a colour as 24 bits of sRGB.
func mean24(colour light) int {
	value := 0
	for _, v := range colour {
		value = value<<8 | int(fromLinear(min(max(v, 0), 1))*255+0.5)
	}
	return value
}

// term19 is a term as three digits of base 19, by the square root of its share
// of the largest.
func term19(term light, largest float64) int {
	value := 0
	for _, v := range term {
		root := math.Copysign(math.Sqrt(math.Abs(v)/largest), v)
		value = value*19 + min(max(int(math.Floor(root*9+9.5)), 0), 18)
	}
	return value
}

// digits appends a number in so many digits of base 83.
func digits(hash []byte, value, count int) []byte {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"
	for i := count - 1; i >= 0; i-- {
		power := 1
		for range i {
			power *= 83
		}
		hash = append(hash, alphabet[value/power%83])
	}
	return hash
}
