package media_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/media"
)

// encoded gives a small picture in a format of the standard library.
func encoded(t testing.TB, format media.Format) []byte {
	t.Helper()
	picture := image.NewPaletted(image.Rect(0, 0, 40, 30), color.Palette{color.White, color.Black})
	for i := range picture.Pix {
		picture.Pix[i] = uint8(i * i % 7 % 2)
	}
	var out bytes.Buffer
	var err error
	switch format {
	case media.JPEG:
		err = jpeg.Encode(&out, picture, nil)
	case media.PNG:
		err = png.Encode(&out, picture)
	default:
		err = gif.EncodeAll(&out, &gif.GIF{Image: []*image.Paletted{picture, picture, picture}, Delay: []int{5, 5, 5}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// box is an ISO base media box.
func box(kind string, bodies ...string) string {
	body := strings.Join(bodies, "")
	return string(binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))) + kind + body
}

// be32 writes big-endian numbers, le32 little-endian ones.
func be32(numbers ...uint32) string {
	var out []byte
	for _, n := range numbers {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	return string(out)
}

func le32(numbers ...uint32) string {
	var out []byte
	for _, n := range numbers {
		out = binary.LittleEndian.AppendUint32(out, n)
	}
	return string(out)
}

// heif is an AVIF or HEIC of one size.
func heif(brand string, width, height uint32) string {
	ispe := box("ispe", be32(0, width, height))
	return ftyp(brand, "mif1") + box("meta", be32(0), box("iprp", box("ipco", ispe))) + box("mdat", "pixels")
}

// chunk is a PNG chunk.
func chunk(kind, body string) string {
	sum := crc32.ChecksumIEEE([]byte(kind + body))
	return be32(uint32(len(body))) + kind + body + be32(sum)
}

const pngHead = "\x89PNG\r\n\x1a\n"

func ihdr(width, height uint32, kinds string) string {
	return chunk("IHDR", be32(width, height)+kinds)
}

// deflated is a zlib stream of n zeros.
func deflated(t testing.TB, n int) string {
	t.Helper()
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	if _, err := w.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// riff is a WebP of chunks.
func riff(chunks ...string) string {
	body := "WEBP" + strings.Join(chunks, "")
	return "RIFF" + le32(uint32(len(body))) + body
}

func riffChunk(kind, body string) string {
	pad := strings.Repeat("\x00", len(body)%2)
	return kind + le32(uint32(len(body))) + body + pad
}

func vp8l(width, height uint32) string {
	return riffChunk("VP8L", "/"+le32(width-1|(height-1)<<14)+"pixels")
}

func anmf(width, height uint32) string {
	size := le32(width - 1)[:3] + le32(height - 1)[:3]
	return riffChunk("ANMF", "\x00\x00\x00\x00\x00\x00"+size+"\x64\x00\x00\x00"+vp8l(width, height))
}

func vp8x(width, height uint32) string {
	return riffChunk("VP8X", "\x02\x00\x00\x00"+le32(width - 1)[:3]+le32(height - 1)[:3])
}

// tiff is a little-endian TIFF of one directory; next is the position of the
// following one.
func tiff(next uint32, entries ...[3]uint32) string {
	out := "II*\x00" + le32(8) + le32(uint32(len(entries)))[:2]
	for _, e := range entries {
		out += le32(e[0]|4<<16) + le32(e[1], e[2]) // all of type LONG
	}
	return out + le32(next) + "padding of some length"
}

// bmp is a plain 24-bit one.
func bmp(width, height int32, depth uint16, pixels int) string {
	header := le32(40, uint32(width), uint32(height)) + le32(1|uint32(depth)<<16) + strings.Repeat("\x00", 24)
	return "BM" + le32(0, 0, 54) + header + strings.Repeat("p", pixels)
}

func TestExamineFindsSizes(t *testing.T) {
	jpegs := encoded(t, media.JPEG)
	tests := []struct {
		name   string
		format media.Format
		src    string
		want   media.Findings
	}{
		{"JPEG", media.JPEG, string(jpegs), media.Findings{Width: 40, Height: 30, Frames: 1, Subsampled: true}},
		{"JPEG with another behind it", media.JPEG, string(jpegs) + string(jpegs[:50]), media.Findings{Width: 40, Height: 30, Frames: 1, Subsampled: true}},
		{"JPEG with fill bytes", media.JPEG, "\xff\xd8\xff\xff\xff" + string(jpegs[3:]), media.Findings{Width: 40, Height: 30, Frames: 1, Subsampled: true}},
		{"PNG", media.PNG, string(encoded(t, media.PNG)), media.Findings{Width: 40, Height: 30, Frames: 1}},
		{"PNG with bytes behind its end", media.PNG, string(encoded(t, media.PNG)) + "PK\x03\x04", media.Findings{Width: 40, Height: 30, Frames: 1}},
		{"GIF", media.GIF, string(encoded(t, media.GIF)), media.Findings{Width: 40, Height: 30, Frames: 3}},
		{"GIF without a trailer", media.GIF, strings.TrimSuffix(string(encoded(t, media.GIF)), ";"), media.Findings{Width: 40, Height: 30, Frames: 3}},
		{"GIF with garbage for a trailer", media.GIF, strings.TrimSuffix(string(encoded(t, media.GIF)), ";") + "\x00\x00", media.Findings{Width: 40, Height: 30, Frames: 3}},
		{"WebP", media.WebP, riff(vp8l(300, 200)), media.Findings{Width: 300, Height: 200, Lossless: true}},
		{"WebP without its last pad byte", media.WebP, strings.TrimSuffix(riff(vp8l(300, 200), riffChunk("EXIF", "x")), "\x00"), media.Findings{Width: 300, Height: 200, Lossless: true}},
		{"animated WebP", media.WebP, riff(vp8x(50, 40), anmf(50, 40), anmf(20, 10)), media.Findings{Width: 50, Height: 40, Frames: 2}},
		{"AVIF", media.AVIF, heif("avif", 300, 200), media.Findings{Width: 300, Height: 200}},
		{"AVIF whose last box has no size", media.AVIF, heif("avif", 300, 200) + be32(0) + "free", media.Findings{Width: 300, Height: 200}},
		{"HEIC with a camera's trailer", media.HEIC, heif("heic", 300, 200) + "\x00\x00\x7f\x00SEFT trailer", media.Findings{Width: 300, Height: 200}},
		{"TIFF", media.TIFF, tiff(0, [3]uint32{256, 1, 300}, [3]uint32{257, 1, 200}, [3]uint32{273, 1, 8}, [3]uint32{279, 1, 20}), media.Findings{Width: 300, Height: 200, Frames: 1}},
		{"BMP", media.BMP, bmp(3, 2, 24, 24), media.Findings{Width: 3, Height: 2}},
		{"BMP stored top to bottom", media.BMP, bmp(3, -2, 24, 24), media.Findings{Width: 3, Height: 2}},
		{"JPEG 2000", media.JP2, box("jP  ", "\r\n\x87\n") + box("jp2c", "\xff\x4f\xff\x51\x00\x29\x00\x00"+be32(310, 220, 10, 20)+strings.Repeat("\x00", 20)), media.Findings{Width: 300, Height: 200}},
		{"JPEG XL codestream", media.JXL, "\xff\x0a\x47\x02", media.Findings{Width: 32, Height: 32}},
		{"JPEG XL container", media.JXL, box("JXL ", "\r\n\x87\n") + box("jxlc", "\xff\x0a\x47\x02"), media.Findings{Width: 32, Height: 32}},
		{"JPEG XL in parts", media.JXL, box("JXL ", "\r\n\x87\n") + box("jxlp", "\x00\x00\x00\x00\xff\x0a\x47\x02") + box("jxlp", "\x80\x00\x00\x01rest"), media.Findings{Width: 32, Height: 32}},
		{"PDF", media.PDF, "%PDF-1.7", media.Findings{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := media.Examine([]byte(test.src), test.format, media.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInspectRefuses(t *testing.T) {
	jpegs, gifs := string(encoded(t, media.JPEG)), string(encoded(t, media.GIF))
	frame := jpegs[strings.Index(jpegs, "\xff\xc0"):]
	scan := jpegs[strings.Index(jpegs, "\xff\xda"):]
	body := ihdr(2, 2, "\x08\x02\x00\x00\x00") + chunk("IDAT", deflated(t, 14))
	huge := strings.Replace(jpegs, "\x00\x1e\x00\x28\x03", "\xff\xff\xff\xff\x03", 1)
	tests := []struct {
		name   string
		format media.Format
		src    string
		code   media.Code
	}{
		{"nothing", media.JPEG, "", media.CodeUnsupported},
		{"an unknown format", media.Unknown, "hello", media.CodeUnsupported},
		{"a JPEG that stops in its data", media.JPEG, jpegs[:len(jpegs)-20], media.CodeDecodeFailed},
		{"a JPEG without its end marker", media.JPEG, jpegs[:len(jpegs)-2], media.CodeDecodeFailed},
		{"a JPEG that stops in a segment", media.JPEG, jpegs[:60], media.CodeDecodeFailed},
		{"a JPEG without data", media.JPEG, "\xff\xd8\xff\xd9", media.CodeDecodeFailed},
		{"a JPEG whose scan comes first", media.JPEG, "\xff\xd8" + scan, media.CodeDecodeFailed},
		{"a JPEG with two frames", media.JPEG, strings.Replace(jpegs, frame, frame[:19]+frame, 1), media.CodeDecodeFailed},
		{"a JPEG without height", media.JPEG, strings.Replace(jpegs, "\x00\x1e\x00\x28\x03", "\x00\x00\x00\x28\x03", 1), media.CodeDecodeFailed},
		{"a JPEG with too many scans", media.JPEG, strings.TrimSuffix(jpegs, "\xff\xd9") + strings.Repeat(strings.TrimSuffix(scan, "\xff\xd9"), 100) + "\xff\xd9", media.CodeScans},
		{"a JPEG with too many pixels", media.JPEG, huge, media.CodePixels},

		{"a PNG without its end", media.PNG, pngHead + body, media.CodeDecodeFailed},
		{"a PNG without data", media.PNG, pngHead + ihdr(2, 2, "\x08\x02\x00\x00\x00") + chunk("IEND", ""), media.CodeDecodeFailed},
		{"a PNG without header", media.PNG, pngHead + chunk("IEND", ""), media.CodeDecodeFailed},
		{"a PNG with two headers", media.PNG, pngHead + body + body, media.CodeDecodeFailed},
		{"a PNG of no width", media.PNG, pngHead + ihdr(0, 2, "\x08\x02\x00\x00\x00"), media.CodeDecodeFailed},
		{"a PNG of an unknown depth", media.PNG, pngHead + ihdr(2, 2, "\x03\x02\x00\x00\x00"), media.CodeDecodeFailed},
		{"a PNG with too many pixels", media.PNG, pngHead + ihdr(65536, 65536, "\x08\x02\x00\x00\x00"), media.CodePixels},
		{"a PNG chunk longer than the file", media.PNG, pngHead + ihdr(2, 2, "\x08\x02\x00\x00\x00") + be32(0xffffffff) + "IDAT", media.CodeDecodeFailed},
		{"a PNG profile that inflates", media.PNG, pngHead + ihdr(2, 2, "\x08\x02\x00\x00\x00") + chunk("iCCP", "a\x00\x00"+deflated(t, 17<<20)), media.CodeMetadata},
		{"a PNG text that inflates", media.PNG, pngHead + ihdr(2, 2, "\x08\x02\x00\x00\x00") + chunk("zTXt", "a\x00\x00"+deflated(t, 17<<20)), media.CodeMetadata},
		{"a PNG international text that inflates", media.PNG, pngHead + ihdr(2, 2, "\x08\x02\x00\x00\x00") + chunk("iTXt", "a\x00\x01\x00en\x00\x00"+deflated(t, 17<<20)), media.CodeMetadata},
		{"PNG texts that inflate together", media.PNG, pngHead + ihdr(2, 2, "\x08\x02\x00\x00\x00") + strings.Repeat(chunk("zTXt", "a\x00\x00"+deflated(t, 5<<20)), 4), media.CodeMetadata},

		{"a GIF that stops in a frame", media.GIF, gifs[:len(gifs)-20], media.CodeDecodeFailed},
		{"a GIF that stops before its next frame", media.GIF, strings.TrimSuffix(gifs, ";") + "\x21\xf9\x04\x00", media.CodeDecodeFailed},
		{"a GIF without frames", media.GIF, "GIF89a\x02\x00\x02\x00\x00\x00\x00;", media.CodeDecodeFailed},
		{"a GIF of no width", media.GIF, strings.Replace(gifs, "\x28\x00\x1e\x00", "\x00\x00\x1e\x00", 1), media.CodeDecodeFailed},
		{"a GIF with too large a canvas", media.GIF, strings.Replace(gifs, "\x28\x00\x1e\x00", "\xff\xff\xff\xff", 1), media.CodePixels},
		{"a GIF with a frame outside its canvas", media.GIF, strings.Replace(gifs, "\x00\x00\x00\x00\x28\x00\x1e\x00", "\x08\x00\x00\x00\x28\x00\x1e\x00", 1), media.CodeDecodeFailed},
		{"a GIF with too many frames", media.GIF, strings.TrimSuffix(gifs, ";") + strings.Repeat("\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x00", 500) + ";", media.CodeFrames},
		{"a GIF with too many pixels over all frames", media.GIF, "GIF89a\x00\x20\x00\x20\x00\x00\x00" + strings.Repeat("\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x00", 2) + ";", media.CodePixels},

		{"a WebP that is cut off", media.WebP, riff(vp8l(300, 200))[:26], media.CodeDecodeFailed},
		{"a WebP chunk longer than its file", media.WebP, riff("VP8L" + le32(500) + "/...."), media.CodeDecodeFailed},
		{"a WebP without data", media.WebP, riff(vp8x(300, 200), riffChunk("EXIF", "x")), media.CodeDecodeFailed},
		{"a WebP of damaged data", media.WebP, riff(riffChunk("VP8 ", "0123456789")), media.CodeDecodeFailed},
		{"a WebP with too large a canvas", media.WebP, riff(vp8x(1<<24, 1<<24)), media.CodePixels},
		{"a WebP with too many frames", media.WebP, riff(vp8x(5, 5), strings.Repeat(anmf(5, 5), 501)), media.CodeFrames},
		{"a WebP with too many pixels over all frames", media.WebP, riff(vp8x(8000, 8000), anmf(5, 5), anmf(5, 5)), media.CodePixels},

		{"an AVIF that is cut off", media.AVIF, heif("avif", 300, 200)[:80], media.CodeDecodeFailed},
		{"an AVIF that describes nothing", media.AVIF, ftyp("avif") + box("mdat", "pixels"), media.CodeDecodeFailed},
		{"an AVIF with too many pixels", media.AVIF, heif("avif", 17000, 17000), media.CodePixels},
		{"an AVIF whose description is damaged", media.AVIF, ftyp("avif") + box("meta", be32(0), be32(500)+"iprp"), media.CodeDecodeFailed},
		{"a JPEG XL container that is cut off", media.JXL, (box("JXL ", "\r\n\x87\n") + box("jxlc", "pixels"))[:24], media.CodeDecodeFailed},
		{"a JPEG XL codestream that ends in its size", media.JXL, "\xff\x0a\x00", media.CodeDecodeFailed},
		{"a JPEG XL of too many pixels", media.JXL, "\xff\x0a\xfe\xff\xff\xff\xff\xff\xff\xff\xff", media.CodePixels},
		{"an animated JPEG XL", media.JXL, "\xff\x0a\x47\x04\x01", media.CodeUnsupported},
		{"a JPEG XL container without data", media.JXL, box("JXL ", "\r\n\x87\n"), media.CodeDecodeFailed},
		{"a JPEG 2000 that is cut off", media.JP2, box("jP  ", "\r\n\x87\n") + "\x00\x00\x10\x00jp2c", media.CodeDecodeFailed},
		{"a JPEG 2000 with too many pixels", media.JP2, "\xff\x4f\xff\x51\x00\x29\x00\x00" + be32(1<<31, 1<<31, 0, 0) + strings.Repeat("\x00", 20), media.CodePixels},

		{"a TIFF whose pages run in a circle", media.TIFF, tiff(8, [3]uint32{256, 1, 3}, [3]uint32{257, 1, 3}), media.CodeDecodeFailed},
		{"a TIFF without pages", media.TIFF, "II*\x00" + le32(0, 0, 0), media.CodeDecodeFailed},
		{"a TIFF whose page lies outside", media.TIFF, "II*\x00" + le32(5000, 0, 0), media.CodeDecodeFailed},
		{"a TIFF with more entries than bytes", media.TIFF, "II*\x00" + le32(8) + "\xff\xff" + strings.Repeat("x", 40), media.CodeDecodeFailed},
		{"a TIFF of no size", media.TIFF, tiff(0, [3]uint32{256, 1, 3}), media.CodeDecodeFailed},
		{"a TIFF with too many pixels", media.TIFF, tiff(0, [3]uint32{256, 1, 60000}, [3]uint32{257, 1, 60000}), media.CodePixels},
		{"a TIFF with too large tiles", media.TIFF, tiff(0, [3]uint32{256, 1, 3}, [3]uint32{257, 1, 3}, [3]uint32{322, 1, 60000}, [3]uint32{323, 1, 60000}), media.CodePixels},
		{"a TIFF whose strip lies outside", media.TIFF, tiff(0, [3]uint32{256, 1, 3}, [3]uint32{257, 1, 3}, [3]uint32{273, 1, 8}, [3]uint32{279, 1, 5000}), media.CodeDecodeFailed},
		{"a TIFF whose list of strips lies outside", media.TIFF, tiff(0, [3]uint32{256, 1, 3}, [3]uint32{257, 1, 3}, [3]uint32{273, 9999, 8}), media.CodeDecodeFailed},
		{"a TIFF with too many channels", media.TIFF, tiff(0, [3]uint32{256, 1, 3}, [3]uint32{257, 1, 3}, [3]uint32{277, 1, 60000}), media.CodeDecodeFailed},

		{"a BMP that is cut off", media.BMP, bmp(3, 2, 24, 20), media.CodeDecodeFailed},
		{"a BMP of an unknown depth", media.BMP, bmp(3, 2, 40, 24), media.CodeDecodeFailed},
		{"a BMP of no height", media.BMP, bmp(3, 0, 24, 24), media.CodeDecodeFailed},
		{"a BMP with too many pixels", media.BMP, bmp(1<<30, 1<<30, 24, 24), media.CodePixels},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantCode(t, media.Inspect([]byte(test.src), test.format, media.DefaultLimits()), test.code)
		})
	}
}

// TestExamineNeedsWholeFiles cuts sound files at every length: none may be
// taken for whole, and none may panic.
func TestExamineNeedsWholeFiles(t *testing.T) {
	files := map[media.Format][]byte{
		media.JPEG: encoded(t, media.JPEG), media.PNG: encoded(t, media.PNG),
		media.WebP: []byte(riff(vp8l(300, 200))), media.AVIF: []byte(heif("avif", 300, 200)),
		media.BMP: []byte(bmp(3, 2, 24, 24)),
	}
	for format, src := range files {
		for length := range len(src) - 1 {
			err := media.Inspect(src[:length], format, media.DefaultLimits())
			whole := format == media.AVIF && length == len(heif("avif", 300, 200))-len(box("mdat", "pixels"))
			if err == nil && !whole {
				t.Fatalf("%s: %d of %d bytes pass", format, length, len(src))
			}
		}
	}
}
