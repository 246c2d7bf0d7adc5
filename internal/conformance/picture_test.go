package conformance_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// picture is an answer taken apart: every frame as a viewer sees it.
type picture struct {
	format string
	frames []*image.NRGBA
	delays []int // milliseconds, empty for stills
	plays  int   // 0 is for ever; meaningless for stills
}

func (p *picture) first() *image.NRGBA { return p.frames[0] }

func (p *picture) size() string {
	return fmt.Sprintf("%dx%d", p.first().Rect.Dx(), p.first().Rect.Dy())
}

// decode takes an answer apart by its magic bytes, with Go's own decoders.
func decode(file []byte) (*picture, error) {
	switch {
	case bytes.HasPrefix(file, []byte("\x89PNG")):
		return still("png", file, png.Decode)
	case bytes.HasPrefix(file, []byte("\xff\xd8")):
		return still("jpeg", file, jpeg.Decode)
	case bytes.HasPrefix(file, []byte("II*\x00")), bytes.HasPrefix(file, []byte("MM\x00*")):
		return still("tiff", file, tiff.Decode)
	case bytes.HasPrefix(file, []byte("GIF8")):
		return decodeGIF(file)
	case len(file) > 16 && string(file[8:12]) == "WEBP":
		return decodeWebP(file)
	}
	return nil, fmt.Errorf("no known picture: %d bytes that begin with %.16q", len(file), file)
}

// mustDecode is decode for answers that have to be good.
func mustDecode(t testing.TB, file []byte) *picture {
	t.Helper()
	p, err := decode(file)
	if err != nil {
		t.Fatalf("decode the answer: %v", err)
	}
	return p
}

func still[R any](format string, file []byte, decode func(R) (image.Image, error)) (*picture, error) {
	img, err := decode(any(bytes.NewReader(file)).(R))
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", format, err)
	}
	if strings.HasPrefix(format, "webp") {
		img = fromVideoRange(img)
	}
	return &picture{format: format, frames: []*image.NRGBA{toNRGBA(img)}}, nil
}

// fromVideoRange converts the YCbCr of a lossy WebP, which is that of video
// (ITU-R BT.601, luma 16 to 235). Go takes it for that of JPEG.
func fromVideoRange(img image.Image) image.Image {
	alpha := func(int, int) uint8 { return 255 }
	var samples *image.YCbCr
	switch img := img.(type) {
	case *image.YCbCr:
		samples = img
	case *image.NYCbCrA:
		samples = &img.YCbCr
		alpha = func(x, y int) uint8 { return img.A[img.AOffset(x, y)] }
	default:
		return img
	}
	out := image.NewNRGBA(samples.Rect)
	for y := range samples.Rect.Dy() {
		for x := range samples.Rect.Dx() {
			c := samples.YCbCrAt(x, y)
			luma, cb, cr := 1.16438*(float64(c.Y)-16), float64(c.Cb)-128, float64(c.Cr)-128
			out.SetNRGBA(x, y, color.NRGBA{
				clamp(luma + 1.59603*cr), clamp(luma - 0.39176*cb - 0.81297*cr), clamp(luma + 2.01723*cb), alpha(x, y),
			})
		}
	}
	return out
}

func clamp(v float64) uint8 { return uint8(max(0, min(255, v+0.5))) }

func toNRGBA(img image.Image) *image.NRGBA {
	if same, ok := img.(*image.NRGBA); ok && same.Rect.Min == (image.Point{}) {
		return same
	}
	if rgba, ok := img.(*image.RGBA); ok && rgba.Opaque() && rgba.Rect.Min == (image.Point{}) {
		// Without transparency the two are the same bytes.
		return &image.NRGBA{Pix: rgba.Pix, Stride: rgba.Stride, Rect: rgba.Rect}
	}
	b := img.Bounds()
	out := image.NewNRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	for y := range b.Dy() {
		for x := range b.Dx() {
			out.Set(x, y, color.NRGBAModel.Convert(img.At(b.Min.X+x, b.Min.Y+y)))
		}
	}
	return out
}

func clone(img *image.NRGBA) *image.NRGBA {
	out := image.NewNRGBA(img.Rect)
	copy(out.Pix, img.Pix)
	return out
}

// decodeGIF composes the frames by their disposal rules (GIF89a, section 23).
func decodeGIF(file []byte) (*picture, error) {
	g, err := gif.DecodeAll(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("decode gif: %w", err)
	}
	p := &picture{format: "gif", plays: gifPlays(g.LoopCount)}
	canvas := image.NewNRGBA(image.Rect(0, 0, g.Config.Width, g.Config.Height))
	for i, frame := range g.Image {
		before := canvas
		canvas = clone(canvas)
		draw.Draw(canvas, frame.Rect, frame, frame.Rect.Min, draw.Over)
		p.frames = append(p.frames, canvas)
		p.delays = append(p.delays, 10*g.Delay[i])
		switch g.Disposal[i] {
		case gif.DisposalBackground:
			canvas = clone(canvas)
			draw.Draw(canvas, frame.Rect, image.Transparent, image.Point{}, draw.Src)
		case gif.DisposalPrevious:
			canvas = before
		}
	}
	return p, nil
}

// played is the picture as viewers play it: they show a frame of 10 ms or less
// for 100 ms, and cannot tell frames that do not differ from one that stays.
// Encoders of WebP use both facts.
func (p *picture) played() *picture {
	out := &picture{format: p.format, plays: p.plays}
	for i, frame := range p.frames {
		delay := 0
		if i < len(p.delays) {
			delay = p.delays[i]
		}
		if delay <= 10 {
			delay = 100
		}
		last := len(out.frames) - 1
		if last >= 0 && bytes.Equal(out.frames[last].Pix, frame.Pix) {
			out.delays[last] += delay
			continue
		}
		out.frames, out.delays = append(out.frames, frame), append(out.delays, delay)
	}
	return out
}

// gifPlays turns Go's loop count into how often the animation plays.
func gifPlays(loopCount int) int {
	switch loopCount {
	case 0:
		return 0
	case -1:
		return 1
	}
	return loopCount + 1
}

// decodeWebP reads stills with x/image and takes animations, which that does
// not read, apart into stills (RFC 9649, section 2.7).
func decodeWebP(file []byte) (*picture, error) {
	chunks, err := riffChunks(file[12:])
	if err != nil {
		return nil, err
	}
	p := &picture{format: "webp"}
	var canvas *image.NRGBA
	for _, c := range chunks {
		switch {
		case c.name == "VP8X" && len(c.data) >= 10:
			canvas = image.NewNRGBA(image.Rect(0, 0, uint24(c.data[4:])+1, uint24(c.data[7:])+1))
		case c.name == "ANIM" && len(c.data) >= 6:
			p.plays = int(binary.LittleEndian.Uint16(c.data[4:]))
		case c.name == "ANMF":
			if canvas, err = p.addWebPFrame(canvas, c.data); err != nil {
				return nil, err
			}
		}
	}
	if len(p.frames) == 0 {
		return still("webp", file, webp.Decode)
	}
	return p, nil
}

// addWebPFrame draws one frame and returns the canvas the next one starts on.
func (p *picture) addWebPFrame(canvas *image.NRGBA, data []byte) (*image.NRGBA, error) {
	if canvas == nil || len(data) < 16 {
		return nil, errors.New("decode webp: a frame without a canvas")
	}
	img, err := webpFrame(data[16:], uint24(data[6:]), uint24(data[9:]))
	if err != nil {
		return nil, err
	}
	x, y := 2*uint24(data), 2*uint24(data[3:])
	area := img.Rect.Add(image.Point{X: x, Y: y})
	op := draw.Over
	if data[15]&2 != 0 {
		op = draw.Src
	}
	shown := clone(canvas)
	draw.Draw(shown, area, img, image.Point{}, op)
	p.frames = append(p.frames, shown)
	p.delays = append(p.delays, uint24(data[12:]))
	if data[15]&1 != 0 {
		shown = clone(shown)
		draw.Draw(shown, area, image.Transparent, image.Point{}, draw.Src)
	}
	return shown, nil
}

// webpFrame makes the chunks of a frame a file of their own.
func webpFrame(data []byte, wMinus1, hMinus1 int) (*image.NRGBA, error) {
	chunks, err := riffChunks(data)
	if err != nil {
		return nil, err
	}
	body := []byte("WEBP")
	for _, c := range chunks {
		if c.name == "ALPH" {
			extended := []byte{0x10, 0, 0, 0}
			for _, v := range []int{wMinus1, hMinus1} {
				extended = append(extended, byte(v), byte(v>>8), byte(v>>16))
			}
			body = appendRIFF(body, "VP8X", extended)
		}
	}
	for _, c := range chunks {
		body = appendRIFF(body, c.name, c.data)
	}
	p, err := still("webp frame", appendRIFF(nil, "RIFF", body), webp.Decode)
	if err != nil {
		return nil, err
	}
	return p.first(), nil
}

type riffChunk struct {
	name string
	data []byte
}

func riffChunks(data []byte) ([]riffChunk, error) {
	var out []riffChunk
	for len(data) >= 8 {
		n := int(binary.LittleEndian.Uint32(data[4:]))
		if n > len(data)-8 {
			return nil, fmt.Errorf("decode webp: chunk %q claims %d bytes of %d", data[:4], n, len(data)-8)
		}
		out = append(out, riffChunk{string(data[:4]), data[8 : 8+n]})
		data = data[min(8+n+n%2, len(data)):]
	}
	return out, nil
}

func appendRIFF(out []byte, name string, data []byte) []byte {
	out = binary.LittleEndian.AppendUint32(append(out, name...), uint32(len(data)))
	out = append(out, data...)
	if len(data)%2 == 1 {
		out = append(out, 0)
	}
	return out
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
