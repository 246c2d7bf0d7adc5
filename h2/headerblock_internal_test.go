package h2

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func blockConfig() *Config {
	return &Config{MaxHeaderBytes: 8 << 10, MaxHeaderFields: 100, MaxContinuations: 8}
}

// encode returns a header block of literals and, for repeated ones, references.
func encode(t testing.TB, enc *hpack.Encoder, buf *bytes.Buffer, fields ...hpack.HeaderField) []byte {
	t.Helper()
	buf.Reset()
	for _, f := range fields {
		if err := enc.WriteField(f); err != nil {
			t.Fatal(err)
		}
	}
	return bytes.Clone(buf.Bytes())
}

func repeat(n int, name, value string) []hpack.HeaderField {
	fields := make([]hpack.HeaderField, n)
	for i := range fields {
		fields[i] = hpack.HeaderField{Name: name, Value: value}
	}
	return fields
}

func TestHeaderBlockLimits(t *testing.T) {
	const ok, calm, compression = http2.ErrCodeNo, http2.ErrCodeEnhanceYourCalm, http2.ErrCodeCompression
	for name, tt := range map[string]struct {
		fields   []hpack.HeaderField
		raw      []byte // instead of fields
		code     http2.ErrCode
		tooLarge bool
	}{
		"a hundred fields are taken": {fields: repeat(100, "a", "b")},
		"one field more is answered 431": {
			fields: repeat(101, "a", "b"), tooLarge: true,
		},
		"two hundred fields are answered 431": {
			fields: repeat(200, "a", "b"), tooLarge: true,
		},
		"twice the fields and one more end the connection": {
			fields: repeat(201, "a", "b"), code: calm,
		},
		"each crumb of a cookie counts": {
			fields: repeat(201, "cookie", "a=b"), code: calm,
		},
		"8 KiB of fields are taken": {
			fields: repeat(1, "a", strings.Repeat("v", 8<<10-33)),
		},
		"a byte more than 8 KiB is answered 431": {
			fields: repeat(1, "a", strings.Repeat("v", 8<<10-32)), tooLarge: true,
		},
		"16 KiB and one byte end the connection": {
			fields: repeat(1, "a", strings.Repeat("v", 16<<10-32)), code: calm,
		},
		"references of a byte each count as what they stand for": {
			fields: repeat(20, "a", strings.Repeat("v", 1000)), code: calm,
		},
		"a bomb of references to the static table is found by count": {
			raw: bytes.Repeat([]byte{0x82}, 16<<10), code: calm,
		},
		"a string that says it is longer than twice the limit is not waited for": {
			raw: []byte{0x00, 0x7f, 0x82, 0x7f}, code: calm, // 16,513 bytes
		},
		"a block that ends inside a field is no block": {
			raw: []byte{0x00, 0x05, 'a'}, code: compression,
		},
		"a reference to nothing is no block": {
			raw: []byte{0xff, 0x20}, code: compression,
		},
		"a number without an end is no block": {
			raw: bytes.Repeat([]byte{0xff}, 64), code: compression,
		},
		"a table larger than ours is no block": {
			raw: []byte{0x3f, 0xe2, 0x1f}, code: compression, // 4097
		},
	} {
		t.Run(name, func(t *testing.T) {
			block := tt.raw
			if block == nil {
				var buf bytes.Buffer
				block = encode(t, hpack.NewEncoder(&buf), &buf, tt.fields...)
			}
			b := newHeaderBlock(blockConfig())
			err := b.begin(block, true)
			if code := codeOf(err); code != tt.code {
				t.Fatalf("ended with %v (%v), want %v", code, err, tt.code)
			}
			if err != nil {
				return
			}
			if b.tooLarge() != tt.tooLarge {
				t.Errorf("too large: %v, want %v", b.tooLarge(), tt.tooLarge)
			}
			fields := b.take()
			if tt.tooLarge && fields != nil {
				t.Errorf("%d fields of a block that is too large are kept", len(fields))
			}
			if !tt.tooLarge {
				if diff := cmp.Diff(tt.fields, fields); diff != "" {
					t.Errorf("fields differ (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// codeOf is the code of a connection error; NO_ERROR for nil.
func codeOf(err error) http2.ErrCode {
	if err == nil {
		return http2.ErrCodeNo
	}
	var conn http2.ConnectionError
	if !errors.As(err, &conn) {
		return 0xff
	}
	return http2.ErrCode(conn)
}

func TestHeaderBlockContinuations(t *testing.T) {
	var buf bytes.Buffer
	fields := repeat(1, "name", strings.Repeat("value", 100))
	block := encode(t, hpack.NewEncoder(&buf), &buf, fields...)

	t.Run("a field may be spread over all frames that are allowed", func(t *testing.T) {
		b := newHeaderBlock(blockConfig())
		step := (len(block) + 8) / 9
		err := b.begin(block[:step], false)
		for i := 1; i <= 8 && err == nil; i++ {
			err = b.proceed(block[min(i*step, len(block)):min((i+1)*step, len(block))], i == 8)
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fields, b.take()); diff != "" {
			t.Errorf("fields differ (-want +got):\n%s", diff)
		}
	})

	t.Run("the ninth frame ends the connection, empty or not", func(t *testing.T) {
		b := newHeaderBlock(blockConfig())
		if err := b.begin(nil, false); err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			if err := b.proceed(nil, false); err != nil {
				t.Fatalf("frame %d: %v", i+1, err)
			}
		}
		if code := codeOf(b.proceed(nil, true)); code != http2.ErrCodeEnhanceYourCalm {
			t.Errorf("ended with %v, want ENHANCE_YOUR_CALM", code)
		}
	})

	t.Run("the count begins anew with the next block", func(t *testing.T) {
		b := newHeaderBlock(blockConfig())
		for range 3 {
			if err := b.begin(nil, false); err != nil {
				t.Fatal(err)
			}
			for i := range 8 {
				if err := b.proceed(nil, i == 7); err != nil {
					t.Fatal(err)
				}
			}
		}
	})

	t.Run("table updates that decode to nothing count as bytes of the wire", func(t *testing.T) {
		b := newHeaderBlock(blockConfig())
		nothing := bytes.Repeat([]byte{0x20}, 4<<10)
		err := b.begin(nothing, false)
		for range 4 {
			if err == nil {
				err = b.proceed(nothing, false)
			}
		}
		if code := codeOf(err); code != http2.ErrCodeEnhanceYourCalm {
			t.Errorf("ended with %v, want ENHANCE_YOUR_CALM", code)
		}
	})
}

func TestHeaderBlockAfterOneThatWasTooLarge(t *testing.T) {
	// The block over the limit put a field into the table which the next one
	// refers to: both sides must still agree about it.
	var buf bytes.Buffer
	enc := hpack.NewEncoder(&buf)
	b := newHeaderBlock(blockConfig())
	large := append(repeat(120, "x", "y"), hpack.HeaderField{Name: "late", Value: "entry"})
	if err := b.begin(encode(t, enc, &buf, large...), true); err != nil {
		t.Fatal(err)
	}
	if !b.tooLarge() || b.take() != nil {
		t.Fatal("121 fields were not too many")
	}
	small := repeat(1, "late", "entry")
	block := encode(t, enc, &buf, small...)
	if len(block) != 1 {
		t.Fatalf("the second block has %d bytes, want a reference of one", len(block))
	}
	if err := b.begin(block, true); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(small, b.take()); diff != "" {
		t.Errorf("fields differ (-want +got):\n%s", diff)
	}
}

func TestHeaderBlockStopsWork(t *testing.T) {
	// Each reference of a byte stands for an entry of 3 KiB. What is decoded
	// beyond the limit is at most one step.
	var buf bytes.Buffer
	enc := hpack.NewEncoder(&buf)
	b := newHeaderBlock(blockConfig())
	seen := 0
	b.dec.SetEmitFunc(func(f hpack.HeaderField) { seen++; b.keep(f) })
	block := encode(t, enc, &buf, repeat(1, "x", strings.Repeat("y", 3000))...)
	block = append(block, bytes.Repeat([]byte{0x80 | 62}, 12<<10)...)
	if code := codeOf(b.begin(block, true)); code != http2.ErrCodeEnhanceYourCalm {
		t.Fatalf("ended with %v, want ENHANCE_YOUR_CALM", code)
	}
	if seen > 8 {
		t.Errorf("%d fields were handed out, want at most the 6 that reach twice the limit", seen)
	}
}

func FuzzHeaderBlock(f *testing.F) {
	var buf bytes.Buffer
	f.Add(encode(f, hpack.NewEncoder(&buf), &buf, repeat(3, "name", "value")...), 2)
	f.Add(bytes.Repeat([]byte{0x82}, 300), 7)
	f.Add([]byte{0x3f, 0xe1, 0x1f, 0x40, 0x01, 'a', 0x01, 'b', 0xbe}, 1)
	f.Fuzz(func(t *testing.T, block []byte, cut int) {
		cfg := blockConfig()
		whole, pieces := newHeaderBlock(cfg), newHeaderBlock(cfg)
		errWhole := whole.begin(block, true)
		cut = max(min(cut, len(block)), 0)
		errPieces := pieces.begin(block[:cut], false)
		if errPieces == nil {
			errPieces = pieces.proceed(block[cut:], true)
		}
		if (errWhole == nil) != (errPieces == nil) {
			t.Fatalf("whole: %v, in two pieces: %v", errWhole, errPieces)
		}
		if errWhole != nil {
			return
		}
		if whole.tooLarge() != pieces.tooLarge() {
			t.Fatal("the same block is too large and is not")
		}
		fields := whole.take()
		if diff := cmp.Diff(fields, pieces.take()); diff != "" {
			t.Fatalf("fields differ (-whole +pieces):\n%s", diff)
		}
		size := 0
		for _, field := range fields {
			size += int(field.Size())
		}
		if size > cfg.MaxHeaderBytes || len(fields) > cfg.MaxHeaderFields {
			t.Fatalf("kept %d fields of %d bytes", len(fields), size)
		}
	})
}
