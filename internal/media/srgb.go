package media

import (
	"encoding/binary"
	"math"
)

// plainSRGB tells whether an ICC profile says nothing but sRGB: its primaries
// by matrix, its curve within half a step of eight bits, and no table.
func plainSRGB(profile []byte) bool {
	p := iccProfile(profile)
	if len(p) < 132 || string(p[16:24]) != "RGB XYZ " || p.has("A2B0") || p.has("D2B0") || p.has("cicp") {
		return false
	}
	for i, name := range []string{"rXYZ", "gXYZ", "bXYZ"} {
		if !p.primaryIs(name, srgbPrimaries[i]) {
			return false
		}
	}
	for _, name := range []string{"rTRC", "gTRC", "bTRC"} {
		if !p.curveIsSRGB(name) {
			return false
		}
	}
	return true
}

// srgbPrimaries are those of sRGB adapted to D50, as in every profile of it.
var srgbPrimaries = [3][3]float64{{0.4361, 0.2225, 0.0139}, {0.3851, 0.7169, 0.0971}, {0.1431, 0.0606, 0.7141}}

// iccProfile is one as it is stored: ICC.1, clause 7.
type iccProfile []byte

// entry is the line of a tag in the table, nil when there is none.
func (p iccProfile) entry(name string) []byte {
	count := min(int(binary.BigEndian.Uint32(p[128:])), (len(p)-132)/12)
	for i := range count {
		if entry := p[132+12*i:]; string(entry[:4]) == name {
			return entry[:12]
		}
	}
	return nil
}

func (p iccProfile) has(name string) bool { return p.entry(name) != nil }

// tag gives the content of a tag, nil when there is none.
func (p iccProfile) tag(name string) []byte {
	entry := p.entry(name)
	if entry == nil {
		return nil
	}
	offset, size := int64(binary.BigEndian.Uint32(entry[4:])), int64(binary.BigEndian.Uint32(entry[8:]))
	if offset+size > int64(len(p)) {
		return nil
	}
	return p[offset : offset+size]
}

// fixed16 reads an s15Fixed16Number.
func fixed16(b []byte) float64 { return float64(int32(binary.BigEndian.Uint32(b))) / 65536 }

func (p iccProfile) primaryIs(name string, want [3]float64) bool {
	data := p.tag(name)
	if len(data) < 20 || string(data[:4]) != "XYZ " {
		return false
	}
	for i := range want {
		if math.Abs(fixed16(data[8+4*i:])-want[i]) > 0.002 {
			return false
		}
	}
	return true
}

// curveIsSRGB compares a curve with sRGB's at the values of eight bits.
func (p iccProfile) curveIsSRGB(name string) bool {
	curve := iccCurve(p.tag(name))
	if curve == nil {
		return false
	}
	for i := range 256 {
		v := float64(i) / 255
		if math.Abs(encodeSRGB(curve(v))-v) > 0.5/255 {
			return false
		}
	}
	return true
}

// encodeSRGB is IEC 61966-2-1 from light to stored value.
func encodeSRGB(light float64) float64 {
	if light <= 0.0031308 {
		return 12.92 * light
	}
	return 1.055*math.Pow(light, 1/2.4) - 0.055
}

// iccCurve is the function of a curve from stored value to light; nil when it
// is not of a kind that profiles of sRGB have.
func iccCurve(data []byte) func(float64) float64 {
	if len(data) < 12 {
		return nil
	}
	switch string(data[:4]) {
	case "para":
		return parametricCurve(data)
	case "curv":
		return tableCurve(data)
	}
	return nil
}

// parametricCurve is of type 3, sRGB's own: ICC.1, 10.18.
func parametricCurve(data []byte) func(float64) float64 {
	if binary.BigEndian.Uint16(data[8:]) != 3 || len(data) < 32 {
		return nil
	}
	var v [5]float64
	for i := range v {
		v[i] = fixed16(data[12+4*i:])
	}
	g, a, b, c, d := v[0], v[1], v[2], v[3], v[4]
	return func(x float64) float64 {
		if x >= d {
			return math.Pow(a*x+b, g)
		}
		return c * x
	}
}

// tableCurve reads between the entries of a table: ICC.1, 10.6.
func tableCurve(data []byte) func(float64) float64 {
	count := int(binary.BigEndian.Uint32(data[8:]))
	if count < 2 || count > (len(data)-12)/2 {
		return nil
	}
	entry := func(i int) float64 { return float64(binary.BigEndian.Uint16(data[12+2*i:])) / 65535 }
	return func(x float64) float64 {
		at := x * float64(count-1)
		low := min(int(at), count-2)
		part := at - float64(low)
		return entry(low)*(1-part) + entry(low+1)*part
	}
}
