package h2

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2/hpack"
)

func TestEncodedBlocksAreWhatWasQueued(t *testing.T) {
	var out bytes.Buffer
	enc := hpack.NewEncoder(&out)
	dec := hpack.NewDecoder(4096, nil)
	values := []string{"", "a", "0123456789", "\xff\xfe\x00", strings.Repeat("a", 126), strings.Repeat("a", 127), strings.Repeat("\xff", 127),
		strings.Repeat("b", 300), strings.Repeat("\xff", 20000), strings.Repeat("c", 20000)}
	for _, status := range []int{0, 100, 200, 304, 599, 999} {
		for i, v := range values {
			if i%3 == 1 {
				enc.SetMaxDynamicTableSize(uint32(1000 * i)) // the change is told first
			}
			fields := newFieldList()
			var want []hpack.HeaderField
			if status != 0 {
				want = append(want, hpack.HeaderField{Name: ":status", Value: statusText(status)})
			}
			for _, name := range []string{"etag", "content-length", "content-range", "last-modified", "location", "content-type", "x-a"} {
				fields.add(name, v)
				want = append(want, hpack.HeaderField{Name: name, Value: v})
			}
			out.Reset()
			h := outHeaders{status: status, fields: fields}
			if err := h.encode(enc, &out); err != nil {
				t.Fatal(err)
			}
			h.release()
			got, err := dec.DecodeFull(out.Bytes())
			if err != nil {
				t.Fatalf("status %d, a value of %d bytes: %v", status, len(v), err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// BenchmarkEncodeHeaders is the block of a picture; the entity tag and the
// length are others every time.
func BenchmarkEncodeHeaders(b *testing.B) {
	var out bytes.Buffer
	enc := hpack.NewEncoder(&out)
	tags := make([]string, 1024)
	for i := range tags {
		tags[i] = `"` + strings.Repeat(string(rune('a'+i%26)), 20) + statusText(i%900+100) + `"`
	}
	b.ReportAllocs()
	size := 0
	for i := 0; b.Loop(); i++ {
		fields := newFieldList()
		fields.add("content-type", "image/jpeg")
		fields.add("cache-control", "public, max-age=31536000, immutable")
		fields.add("vary", "Accept")
		fields.add("etag", tags[i%1024])
		fields.add("content-length", tags[(i*7)%1024][1:5])
		fields.add("date", "Tue, 01 Dec 2026 08:00:00 GMT")
		h := outHeaders{status: 200, fields: fields}
		out.Reset()
		if err := h.encode(enc, &out); err != nil {
			b.Fatal(err)
		}
		h.release()
		size += out.Len()
	}
	b.ReportMetric(float64(size)/float64(b.N), "bytes/block")
}
