package cache

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzParseHeader holds that whatever a file begins with is either refused or
// a head that is written in exactly these bytes.
func FuzzParseHeader(f *testing.F) {
	for _, parts := range [][][]byte{nil, {nil}, {[]byte("one"), make([]byte, 5000)}} {
		h, err := newHeader("key", "group", time.Unix(1796000000, 17), []byte("meta"), parts)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(h.encode(), h.size())
	}
	f.Add([]byte(magic), int64(8))
	f.Add(bytes.Repeat([]byte{0xff}, 200), int64(200))
	f.Fuzz(func(t *testing.T, b []byte, size int64) {
		// Without a checksum that agrees nothing behind it would be tried.
		if n, err := headLength(b); err == nil && n <= len(b) {
			binary.LittleEndian.PutUint32(b[8:], checksum(0, b[12:n]))
		}
		h, err := parseHeader(b, size)
		if err != nil {
			return
		}
		if h.size() != size || h.length() > len(b) {
			t.Fatalf("a head of %d in %d bytes, for %d instead of %d", h.length(), len(b), h.size(), size)
		}
		if again := h.encode(); !bytes.Equal(again, b[:h.length()]) {
			t.Fatalf("written again it is %x instead of %x", again, b[:h.length()])
		}
	})
}

func TestAHeadReadsAsItWasWritten(t *testing.T) {
	h, err := newHeader("key", "group", time.Unix(1796000000, 17), []byte("meta"), [][]byte{[]byte("one"), nil})
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseHeader(append(h.encode(), "one"...), h.size())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h, got, cmp.AllowUnexported(header{}, partSum{})); diff != "" {
		t.Errorf("heads differ (-want +got):\n%s", diff)
	}
}

func TestANameReadsAsItWasWritten(t *testing.T) {
	h, err := newHeader("key", "group", time.Time{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := nameOf(h.key, h.group)
	path := want.path()
	got, ok := parseName(path[:2], path[3:])
	if !ok || got != want {
		t.Errorf("name = %v, %v, want %v", got, ok, want)
	}
}
