package media_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/spillway-media/spillway/internal/media"
)

// gzipped compresses text.
func gzipped(t testing.TB, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// utf16Text encodes text with a byte order mark.
func utf16Text(text string, order binary.AppendByteOrder) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

// ftyp is the first box of an ISO base media file.
func ftyp(brands ...string) string {
	body := brands[0] + "\x00\x00\x00\x00" + strings.Join(brands[1:], "")
	return string(binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))) + "ftyp" + body
}

func TestSniff(t *testing.T) {
	const svg = `<svg xmlns="http://www.w3.org/2000/svg"/>`
	tests := []struct {
		name, head string
		want       media.Format
	}{
		{"nothing", "", media.Unknown},
		{"one byte", "\xff", media.Unknown},
		{"JPEG", "\xff\xd8\xff\xe0", media.JPEG},
		{"PNG", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", media.PNG},
		{"a PNG whose line ends were converted", "\x89PNG\n\x1a\n", media.Unknown},
		{"GIF of 1987", "GIF87a", media.GIF},
		{"GIF of 1989", "GIF89a", media.GIF},
		{"WebP", "RIFF\x04\x00\x00\x00WEBPVP8 ", media.WebP},
		{"a WebP that talks of SVG is WebP", "RIFF\x04\x00\x00\x00WEBPEXIF<svg>", media.WebP},
		{"another RIFF file", "RIFF\x04\x00\x00\x00AVI LIST", media.Unknown},
		{"little-endian TIFF", "II*\x00\x08\x00\x00\x00", media.TIFF},
		{"big-endian TIFF", "MM\x00*\x00\x00\x00\x08", media.TIFF},
		{"little-endian BigTIFF", "II+\x00\x08\x00\x00\x00", media.TIFF},
		{"big-endian BigTIFF", "MM\x00+\x00\x08\x00\x00", media.TIFF},
		{"JPEG XL codestream", "\xff\x0a\x00", media.JXL},
		{"JPEG XL container", "\x00\x00\x00\x0cJXL \r\n\x87\n", media.JXL},
		{"JPEG 2000", "\x00\x00\x00\x0cjP  \r\n\x87\n", media.JP2},
		{"JPEG 2000 codestream", "\xff\x4f\xff\x51\x00\x2f", media.JP2},
		{"PDF", "%PDF-1.7\n", media.PDF},
		{"BMP", "BM" + strings.Repeat("\x00", 12) + "\x28\x00\x00\x00", media.BMP},
		{"a word that begins with BM", "BMW drivers are welcome here", media.Unknown},
		{"AVIF", ftyp("avif", "mif1", "miaf"), media.AVIF},
		{"AVIF sequence", ftyp("avis", "msf1"), media.AVIF},
		{"AVIF that calls itself HEIF", ftyp("mif1", "avif", "miaf"), media.AVIF},
		{"HEIC", ftyp("heic", "mif1"), media.HEIC},
		{"HEIC that calls itself HEIF", ftyp("mif1", "heic"), media.HEIC},
		{"HEIC with an AVIF relative is what it says first", ftyp("heix", "avif"), media.HEIC},
		{"HEIC sequence", ftyp("msf1", "hevc"), media.HEIC},
		{"HEIF of no known coding", ftyp("mif1", "miaf"), media.HEIC},
		{"a camera's own brand with HEIC among its kin", ftyp("xyz ", "heic"), media.HEIC},
		{"MP4 video", ftyp("isom", "iso2", "avc1", "mp41"), media.Unknown},
		{"QuickTime video", ftyp("qt  ", "qt  "), media.Unknown},
		{"a cut-off brand", "\x00\x00\x00\x18ftyp", media.Unknown},
		{"SVG", svg, media.SVG},
		{"SVG behind white space", " \r\n\t" + svg, media.SVG},
		{"SVG with a byte order mark", "\xef\xbb\xbf" + svg, media.SVG},
		{"SVG with a declaration, comment and document type", `<?xml version="1.0"?><!-- <html> --><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x.dtd" [<!ENTITY a ">">]>` + svg, media.SVG},
		{"SVG with a prefix", `<s:svg xmlns:s="http://www.w3.org/2000/svg"/>`, media.SVG},
		{"SVG whose first tag does not end in time", `<svg xmlns="http://www.w3.org/2000/svg" data-x="` + strings.Repeat("y", 5000), media.SVG},
		{"SVG in little-endian UTF-16", utf16Text(svg, binary.LittleEndian), media.SVG},
		{"SVG in big-endian UTF-16", utf16Text(svg, binary.BigEndian), media.SVG},
		{"compressed SVG", gzipped(t, svg), media.SVG},
		{"compressed SVG that is cut off", gzipped(t, svg+strings.Repeat("<g/>", 9000))[:60], media.SVG},
		{"compressed something", gzipped(t, "hello"), media.Unknown},
		{"HTML", "<html><svg></svg></html>", media.Unknown},
		{"HTML that begins with a drawing", "<!DOCTYPE html><svg></svg>", media.Unknown},
		{"text that holds a drawing", "see <svg></svg>", media.Unknown},
		{"another XML file", `<?xml version="1.0"?><image><read filename="x"/></image>`, media.Unknown},
		{"an element named like it", "<svgx/>", media.Unknown},
		{"a comment that never ends", "<!-- <svg>", media.Unknown},
		{"random bytes", "\x13\x37\xca\xfe\xba\xbe<svg>", media.Unknown},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := media.Sniff([]byte(test.head)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
