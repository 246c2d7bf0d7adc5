package h2

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2/hpack"
)

// outHeaders is a header block on its way to the writer, which encodes it when
// its turn on the wire has come: what HPACK remembers follows the wire's order.
// The fields are a copy, so that a handler may change its own at once.
type outHeaders struct {
	status    int        // 0: trailers
	fields    *fieldList // nil: none but the status
	endStream bool
}

// encode appends the block to out, which is what enc writes to.
func (h *outHeaders) encode(enc *hpack.Encoder, out *bytes.Buffer) error {
	if h.status != 0 {
		if err := enc.WriteField(hpack.HeaderField{Name: ":status", Value: statusText(h.status)}); err != nil {
			return err
		}
	}
	if h.fields == nil {
		return nil
	}
	for _, f := range h.fields.list {
		// Behind :status only: a change of the table's size, which enc may have
		// to tell, comes first in a block (RFC 7541, 4.2).
		if index := rarelyTwice(f.Name); index != 0 && h.status != 0 {
			appendLiteral(out, index, f.Value)
			continue
		}
		if err := enc.WriteField(f); err != nil {
			return err
		}
	}
	return nil
}

// rarelyTwice is the place in HPACK's static table (RFC 7541, appendix A) of a
// field whose value is another one in nearly every response. In the dynamic
// table it would only push out those that come again.
func rarelyTwice(name string) int {
	switch name {
	case "content-length":
		return 28
	case "content-range":
		return 30
	case "etag":
		return 34
	case "last-modified":
		return 44
	case "location":
		return 46
	}
	return 0
}

// appendLiteral writes a literal field without indexing whose name is in the
// static table beyond its 15th place (RFC 7541, 6.2.2).
func appendLiteral(out *bytes.Buffer, index int, value string) {
	b := append(out.AvailableBuffer(), 0x0f, byte(index-15))
	if short := hpack.HuffmanEncodeLength(value); short < uint64(len(value)) {
		b = hpack.AppendHuffmanString(appendLength(b, 0x80, short), value)
	} else {
		b = append(appendLength(b, 0, uint64(len(value))), value...)
	}
	out.Write(b)
}

// appendLength writes an integer with a prefix of seven bits (RFC 7541, 5.1).
func appendLength(b []byte, flag byte, n uint64) []byte {
	if n < 127 {
		return append(b, flag|byte(n))
	}
	b = append(b, flag|127)
	for n -= 127; n >= 128; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// release gives the fields back; h is of no use afterwards. Whoever encodes or
// discards a block calls it once.
func (h *outHeaders) release() {
	if h.fields == nil {
		return
	}
	h.fields.reset()
	fieldLists.Put(h.fields)
	h.fields = nil
}

// fieldList collects the fields of a block under the names that go on the wire.
type fieldList struct{ list []hpack.HeaderField }

var fieldLists = sync.Pool{New: func() any { return &fieldList{list: make([]hpack.HeaderField, 0, 16)} }}

func newFieldList() *fieldList { return fieldLists.Get().(*fieldList) }

func (l *fieldList) reset() {
	clear(l.list) // strings of one response are not kept alive by the next
	l.list = l.list[:0]
	if cap(l.list) > 256 {
		l.list = nil
	}
}

// add appends a field whose name and value are known to be well-formed.
func (l *fieldList) add(name, value string) {
	l.list = append(l.list, hpack.HeaderField{Name: name, Value: value})
}

// addAll appends what HTTP/2 may carry of the values of a handler's field and
// leaves out what it may not, as net/http does: a response with a field less is
// of more use than none. The name is in the handler's spelling.
func (l *fieldList) addAll(name string, values []string) {
	wire, ok := wireName(name)
	if !ok || connectionSpecific(wire) {
		return
	}
	for _, v := range values {
		if !httpguts.ValidHeaderFieldValue(v) {
			continue
		}
		l.list = append(l.list, hpack.HeaderField{
			Name:  wire,
			Value: strings.Trim(v, " \t"), // RFC 9113, 8.2.1: neither starts nor ends with white space
			// A cookie is nobody else's business and rarely the same twice:
			// it stays out of every table on the way (RFC 7541, 7.1.3).
			Sensitive: wire == "set-cookie",
		})
	}
}

// connectionSpecific names the fields that HTTP/2 has frames for (RFC 9113, 8.2.2).
func connectionSpecific(wire string) bool {
	switch wire {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return true
	}
	return false
}

// statusText has the statuses a server of media answers with; others are rare
// enough to be formatted.
func statusText(status int) string {
	switch status {
	case http.StatusOK:
		return "200"
	case http.StatusNotModified:
		return "304"
	case http.StatusPartialContent:
		return "206"
	case http.StatusNoContent:
		return "204"
	case http.StatusNotFound:
		return "404"
	}
	digits := [3]byte{byte('0' + status/100%10), byte('0' + status/10%10), byte('0' + status%10)}
	return string(digits[:])
}

// dates formats the time for Date fields, once a second however many responses
// ask for it; equal text also costs HPACK one byte.
type dates struct{ last atomic.Pointer[dateOfSecond] }

type dateOfSecond struct {
	second int64
	text   string
}

func (d *dates) text(now time.Time) string {
	second := now.Unix()
	if last := d.last.Load(); last != nil && last.second == second {
		return last.text
	}
	next := &dateOfSecond{second: second, text: now.UTC().Format(http.TimeFormat)}
	d.last.Store(next)
	return next.text
}
