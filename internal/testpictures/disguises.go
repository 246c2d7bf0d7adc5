package testpictures

import (
	"archive/zip"
	"bytes"
	"fmt"
)

// Disguises are files that are no picture whatever their name says, by that
// name. Those with a link point it at canary.
func Disguises(canary string) map[string][]byte {
	return map[string][]byte{
		"page.jpg":        fmt.Appendf(nil, `<!DOCTYPE html><html><body><img src=%q><script src=%q></script></body></html>`, canary, canary),
		"pipe.jpg":        []byte("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n(%pipe%id) (r) file\nshowpage\n"),
		"magick.png":      fmt.Appendf(nil, `<?xml version="1.0"?><image><read filename=%q/><write filename="/tmp/written"/></image>`, canary),
		"playlist.gif":    fmt.Appendf(nil, "#EXTM3U\n#EXTINF:1,\n%s\n#EXT-X-ENDLIST\n", canary),
		"vector.png":      fmt.Appendf(nil, "push graphic-context\nviewbox 0 0 9 9\nimage over 0,0 9,9 '%s'\npop graphic-context\n", canary),
		"archive.webp":    zipped("a.txt", "hello"),
		"empty.jpg":       {},
		"one-byte.png":    {0x89},
		"noise.webp":      noise(4096),
		"riff-sound.webp": append([]byte("RIFF\x24\x00\x00\x00WAVEfmt "), make([]byte, 28)...),
		"program.gif":     append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 200)...),
	}
}

// ZipJPEG is a good JPEG with an archive behind it.
func ZipJPEG(file []byte) []byte {
	return append(bytes.Clone(file), zipped("index.html", "<script>alert(1)</script>")...)
}

// ScriptGIF is a good GIF with a script behind its end.
func ScriptGIF(file []byte) []byte {
	return append(bytes.Clone(file), "/*\n*/=1;alert(document.domain);//"...)
}

func zipped(name, text string) []byte {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	w, err := z.Create(name)
	must(err)
	_, err = w.Write([]byte(text))
	must(err)
	must(z.Close())
	return buf.Bytes()
}

// noise is n bytes without any pattern or magic number.
func noise(n int) []byte {
	out := make([]byte, n)
	state := uint32(88172645)
	for i := range out {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		out[i] = byte(state >> 11)
	}
	return out
}

// Truncate keeps the given share of a file, at least one byte of a file that
// has any.
func Truncate(file []byte, share float64) []byte {
	n := int(float64(len(file)) * share)
	return bytes.Clone(file[:max(min(n, len(file)), min(1, len(file)))])
}

// PDF is a document of n pages of w x h points, each with a filled block.
func PDF(w, h, n int) []byte {
	var buf bytes.Buffer
	offsets := []int{}
	object := func(body string) {
		offsets = append(offsets, buf.Len())
		fmt.Fprintf(&buf, "%d 0 obj\n%s\nendobj\n", len(offsets), body)
	}
	buf.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	kids := ""
	for i := range n {
		kids += fmt.Sprintf("%d 0 R ", 3+2*i)
	}
	object(fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids, n))
	for i := range n {
		draw := fmt.Sprintf("0.2 0.%d 0.6 rg 0 0 %d %d re f", i%10, w/2, h/2)
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents %d 0 R >>", w, h, 4+2*i))
		object(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(draw), draw))
	}
	start := buf.Len()
	fmt.Fprintf(&buf, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, at := range offsets {
		fmt.Fprintf(&buf, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&buf, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return buf.Bytes()
}
