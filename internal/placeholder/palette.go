package placeholder

import (
	"image/color"
	"slices"
)

// sample is one pixel and where it stands.
type sample struct {
	rgba [4]byte
	at   int
}

// quantise finds at most count colours for a picture, and for each pixel the
// number of its colour, by median cut: the box of samples with the widest
// channel is halved until there are enough.
func (p Picture) quantise(count int) (color.Palette, []byte) {
	samples := make([]sample, p.width*p.height)
	for i := range samples {
		samples[i] = sample{[4]byte(p.pixels[4*i:]), i}
	}
	boxes := [][]sample{samples}
	for len(boxes) < count {
		widest, channel, width := 0, 0, 0
		for i, box := range boxes {
			if c, w := widestChannel(box); w > width {
				widest, channel, width = i, c, w
			}
		}
		if width == 0 {
			break // no two colours are left to tell apart
		}
		low, high := halve(boxes[widest], channel)
		boxes[widest] = low
		boxes = append(boxes, high)
	}
	return paletteOf(boxes, len(samples))
}

func paletteOf(boxes [][]sample, samples int) (color.Palette, []byte) {
	colours, index := make(color.Palette, len(boxes)), make([]byte, samples)
	for i, box := range boxes {
		colours[i] = meanOf(box)
		for _, s := range box {
			index[s.at] = byte(i)
		}
	}
	return colours, index
}

func widestChannel(box []sample) (channel, width int) {
	for c := range 4 {
		low, high := box[0].rgba[c], box[0].rgba[c]
		for _, s := range box {
			low, high = min(low, s.rgba[c]), max(high, s.rgba[c])
		}
		if w := int(high) - int(low); w > width {
			channel, width = c, w
		}
	}
	return channel, width
}

// halve splits a box at the median of a channel, but never equal values.
func halve(box []sample, channel int) (low, high []sample) {
	slices.SortStableFunc(box, func(a, b sample) int { return int(a.rgba[channel]) - int(b.rgba[channel]) })
	same := func(i int) bool { return box[i].rgba[channel] == box[i-1].rgba[channel] }
	middle := len(box) / 2
	cut := middle
	for cut < len(box) && same(cut) {
		cut++
	}
	if cut == len(box) {
		for cut = middle; same(cut); {
			cut--
		}
	}
	return box[:cut], box[cut:]
}

// meanOf weighs colours by their opacity: what is clear has none.
func meanOf(box []sample) color.NRGBA {
	var sum [4]int
	for _, s := range box {
		alpha := int(s.rgba[3])
		for c := range 3 {
			sum[c] += int(s.rgba[c]) * alpha
		}
		sum[3] += alpha
	}
	if sum[3] == 0 {
		return color.NRGBA{}
	}
	mean := func(c int) uint8 { return uint8((sum[c] + sum[3]/2) / sum[3]) }
	n := len(box)
	return color.NRGBA{R: mean(0), G: mean(1), B: mean(2), A: uint8((sum[3] + n/2) / n)}
}
