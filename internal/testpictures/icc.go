package testpictures

import (
	"encoding/binary"
	"image/color"
	"math"
	"slices"
)

// profileTag is one tag of an ICC profile.
type profileTag struct {
	name string
	data []byte
}

// profile lays out an ICC version 2.1 profile (ICC.1:2001-04, clause 6). Tags
// with the very same data share it.
func profile(class, space, pcs string, tags []profileTag) []byte {
	header := make([]byte, 128)
	copy(header[8:], []byte{2, 0x10, 0, 0})
	copy(header[12:], class+space+pcs)
	for i, v := range []uint16{2026, 1, 1, 0, 0, 0} {
		binary.BigEndian.PutUint16(header[24+2*i:], v)
	}
	copy(header[36:], "acsp")
	copy(header[68:], fixed(0.9642, 1, 0.8249))

	table := binary.BigEndian.AppendUint32(nil, uint32(len(tags)))
	at := 128 + 4 + 12*len(tags)
	var data []byte
	placed := map[string]int{}
	for _, t := range tags {
		offset, ok := placed[string(t.data)]
		if !ok {
			offset = at + len(data)
			placed[string(t.data)] = offset
			data = append(data, t.data...)
			data = append(data, make([]byte, (4-len(data)%4)%4)...)
		}
		table = append(table, t.name...)
		table = binary.BigEndian.AppendUint32(table, uint32(offset))
		table = binary.BigEndian.AppendUint32(table, uint32(len(t.data)))
	}
	out := slices.Concat(header, table, data)
	binary.BigEndian.PutUint32(out, uint32(len(out)))
	return out
}

// fixed encodes numbers as s15Fixed16.
func fixed(values ...float64) []byte {
	var out []byte
	for _, v := range values {
		out = binary.BigEndian.AppendUint32(out, uint32(int32(math.Round(v*65536))))
	}
	return out
}

func xyzTag(x, y, z float64) []byte { return append([]byte("XYZ \x00\x00\x00\x00"), fixed(x, y, z)...) }

func textTag(s string) []byte { return []byte("text\x00\x00\x00\x00" + s + "\x00") }

func descriptionTag(s string) []byte {
	out := []byte("desc\x00\x00\x00\x00")
	out = binary.BigEndian.AppendUint32(out, uint32(len(s)+1))
	out = append(out, s...)
	return append(out, make([]byte, 1+4+4+2+1+67)...)
}

// curveTag samples the sRGB transfer curve, which Display P3 shares.
func curveTag() []byte {
	const points = 1024
	out := []byte("curv\x00\x00\x00\x00")
	out = binary.BigEndian.AppendUint32(out, points)
	for i := range points {
		v := linear(float64(i) / (points - 1))
		out = binary.BigEndian.AppendUint16(out, uint16(math.Round(v*65535)))
	}
	return out
}

// Columns of the Display P3 to XYZ (D50) matrix, and of sRGB's.
var (
	p3Columns   = [3][3]float64{{0.515102, 0.241182, -0.001050}, {0.291965, 0.692236, 0.041880}, {0.157153, 0.066582, 0.784073}}
	srgbColumns = [3][3]float64{{0.436066, 0.222488, 0.013916}, {0.385147, 0.716873, 0.097076}, {0.143066, 0.060608, 0.714096}}
)

// WideGamutProfile is an RGB matrix profile with the primaries of Display P3.
func WideGamutProfile() []byte { return matrixProfile("Test wide gamut", p3Columns) }

// SRGBProfile says of a picture what is taken for granted without it.
func SRGBProfile() []byte { return matrixProfile("Test sRGB", srgbColumns) }

// SwappedProfile is an sRGB-like profile whose red and green primaries are
// exchanged: a picture comes out with red for green unless the profile was
// ignored, which no tolerance can hide.
func SwappedProfile() []byte {
	return matrixProfile("Test swapped", [3][3]float64{srgbColumns[1], srgbColumns[0], srgbColumns[2]})
}

// LinearGreyProfile is a profile for grey whose values are linear in light:
// half of 255 is shown as 188 in sRGB.
func LinearGreyProfile() []byte {
	return profile("mntr", "GRAY", "XYZ ", []profileTag{
		{"desc", descriptionTag("Test linear grey")}, {"cprt", textTag("Public domain")},
		{"wtpt", xyzTag(0.9642, 1, 0.8249)}, {"kTRC", []byte("curv\x00\x00\x00\x00\x00\x00\x00\x00")},
	})
}

func matrixProfile(name string, columns [3][3]float64) []byte {
	curve := curveTag()
	tags := []profileTag{
		{"desc", descriptionTag(name)}, {"cprt", textTag("Public domain")},
		{"wtpt", xyzTag(0.9642, 1, 0.8249)},
	}
	for i, c := range "rgb" {
		col := columns[i]
		tags = append(tags,
			profileTag{string(c) + "XYZ", xyzTag(col[0], col[1], col[2])},
			profileTag{string(c) + "TRC", curve})
	}
	return profile("mntr", "RGB ", "XYZ ", tags)
}

// WideGamutToSRGB is the sRGB colour of a wide-gamut one, clipped: the right
// answer for pictures with WideGamutProfile.
func WideGamutToSRGB(c color.NRGBA) color.NRGBA {
	in := [3]float64{linear(float64(c.R) / 255), linear(float64(c.G) / 255), linear(float64(c.B) / 255)}
	var xyz [3]float64
	for row := range 3 {
		for i := range 3 {
			xyz[row] += p3Columns[i][row] * in[i]
		}
	}
	r, g, b := fromXYZ(xyz)
	return color.NRGBA{r, g, b, c.A}
}

// fromXYZ converts D50 XYZ to sRGB levels, with the inverse of srgbColumns.
func fromXYZ(xyz [3]float64) (r, g, b uint8) {
	m := [3][3]float64{{3.1338561, -1.6168667, -0.4906146}, {-0.9787684, 1.9161415, 0.0334540}, {0.0719453, -0.2289914, 1.4052427}}
	var out [3]uint8
	for row := range 3 {
		out[row] = level(gamma(m[row][0]*xyz[0] + m[row][1]*xyz[1] + m[row][2]*xyz[2]))
	}
	return out[0], out[1], out[2]
}

func linear(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

func gamma(v float64) float64 {
	switch {
	case v <= 0:
		return 0
	case v <= 0.0031308:
		return 12.92 * v
	}
	return 1.055*math.Pow(v, 1/2.4) - 0.055
}

// OddInk is what the test CMYK profile says the inks look like: cyan ink
// prints orange, magenta prints green, yellow prints blue, black prints black.
// No default profile agrees, so a picture shows which profile was used.
func OddInk(c color.CMYK) color.NRGBA {
	share := func(ink uint8) float64 { return float64(ink) / 255 }
	cy, m, y, k := share(c.C), share(c.M), share(c.Y), share(c.K)
	black := 1 - k
	// Each ink multiplies the light: its colour at full, white at none.
	mix := func(at1, at2, at3 float64) uint8 {
		return level((1 - cy*(1-at1)) * (1 - m*(1-at2)) * (1 - y*(1-at3)) * black)
	}
	return color.NRGBA{mix(1, 0.1, 0.1), mix(0.55, 0.7, 0.2), mix(0.1, 0.2, 0.9), 255}
}

// OddInkProfile is a CMYK output profile that looks like OddInk: a lookup
// table of 9 points a side to Lab (lut8Type, ICC.1:2001-04, 6.5.8).
func OddInkProfile() []byte {
	const side = 9
	lut := []byte("mft1\x00\x00\x00\x00\x04\x03\x09\x00")
	lut = append(lut, fixed(1, 0, 0, 0, 1, 0, 0, 0, 1)...)
	ramp := make([]byte, 256)
	for i := range ramp {
		ramp[i] = byte(i)
	}
	for range 4 {
		lut = append(lut, ramp...)
	}
	ink := func(i int) uint8 { return uint8(math.Round(float64(i) * 255 / (side - 1))) }
	for i := range side * side * side * side {
		c, m, y, k := i/(side*side*side), i/(side*side)%side, i/side%side, i%side
		l, a, b := toLab(OddInk(color.CMYK{C: ink(c), M: ink(m), Y: ink(y), K: ink(k)}))
		lut = append(lut, uint8(math.Round(l*2.55)), uint8(math.Round(a+128)), uint8(math.Round(b+128)))
	}
	for range 3 {
		lut = append(lut, ramp...)
	}
	return profile("prtr", "CMYK", "Lab ", []profileTag{
		{"desc", descriptionTag("Test odd inks")}, {"cprt", textTag("Public domain")},
		{"wtpt", xyzTag(0.9642, 1, 0.8249)},
		{"A2B0", lut}, {"A2B1", lut}, {"A2B2", lut},
	})
}

// toLab converts an sRGB colour to CIE Lab with the white point D50.
func toLab(c color.NRGBA) (l, a, b float64) {
	in := [3]float64{linear(float64(c.R) / 255), linear(float64(c.G) / 255), linear(float64(c.B) / 255)}
	white := [3]float64{0.9642, 1, 0.8249}
	var f [3]float64
	for row := range 3 {
		var v float64
		for i := range 3 {
			v += srgbColumns[i][row] * in[i]
		}
		if v /= white[row]; v > 0.008856 {
			f[row] = math.Cbrt(v)
		} else {
			f[row] = 7.787*v + 16.0/116
		}
	}
	return 116*f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])
}
