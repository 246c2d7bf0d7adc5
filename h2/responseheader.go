package h2

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/spillway-media/spillway/h2/priority"
)

// What a response says besides its body: the header as it was at WriteHeader,
// completed when it leaves, and the trailers. The caller holds the response's mu.

// headFacts is what the last steps need to know about a handler's header.
type headFacts struct {
	length                   int64 // declared; -1: not
	noLength                 bool  // the handler wants none
	hasType, hasDate, hasEnc bool
	wish                     priority.Wish
	hasWish, closes          bool
}

// freeze copies the header as it is at WriteHeader.
func (r *response) freeze() {
	r.fields = newFieldList()
	r.head = headFacts{length: -1}
	for name, values := range r.header {
		wire, ok := wireName(name)
		if !ok {
			continue
		}
		switch wire {
		case "content-length":
			r.declare(values)
			continue
		case "content-type":
			r.head.hasType = true
		case "content-encoding":
			r.head.hasEnc = len(values) > 0 && values[0] != ""
		case "date":
			r.head.hasDate = true
		case "trailer":
			r.announce(values)
		case "connection":
			r.head.closes = r.head.closes || httpguts.HeaderValuesContainsToken(values, "close")
		case "priority":
			r.head.wish = priority.ParseField(strings.Join(values, ", "))
			r.head.hasWish = true
		}
		r.fields.addAll(wire, values)
	}
}

// declare takes the handler's Content-Length; one that is no number is dropped,
// and any on an answer that has none (RFC 9110, 8.6).
func (r *response) declare(values []string) {
	if len(values) == 0 || values[0] == "" {
		r.head.noLength = true
		return
	}
	if r.status == http.StatusNoContent {
		return
	}
	if n, ok := parseLength(values[0]); ok {
		r.head.length = n
		r.fields.add("content-length", values[0])
	}
}

func (r *response) announce(lists []string) {
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			r.addTrailer(strings.Trim(name, " \t"))
		}
	}
}

func (r *response) addTrailer(name string) {
	name = http.CanonicalHeaderKey(name)
	if name == "" {
		return
	}
	if !httpguts.ValidTrailerHeader(name) {
		r.st.c.s.logf("h2: a field that cannot be a trailer is left out: %q", name)
		return
	}
	if !slices.Contains(r.trailers, name) {
		r.trailers = append(r.trailers, name)
	}
}

// sendHeader queues the final header and the first bytes of the body. Once the
// handler is done these are all; last: there are no trailers behind them either.
func (r *response) sendHeader(p []byte, last bool) error {
	r.complete(p)
	h := outHeaders{status: r.status, fields: r.fields}
	r.sent, r.fields = true, nil
	if r.isHead || !bodyAllowed(r.status) {
		p, last = nil, true
	}
	h.endStream = last && len(p) == 0
	if r.head.hasWish {
		r.st.setWish(r.head.wish)
	}
	if r.head.closes { // the HTTP/1.1 way to say it, which net/http understands too
		r.st.c.drain()
	}
	r.continueMu.Lock()
	defer r.continueMu.Unlock()
	r.proceed()
	return r.st.send(&h, p, last)
}

// complete adds what a header should have and the handler did not give.
func (r *response) complete(p []byte) {
	if !r.head.hasType && !r.head.hasEnc && len(p) > 0 && bodyAllowed(r.status) {
		r.fields.add("content-type", http.DetectContentType(p))
	}
	if r.done.Load() && r.head.length < 0 && !r.head.noLength && bodyAllowed(r.status) && (len(p) > 0 || !r.isHead) {
		r.fields.add("content-length", strconv.Itoa(len(p)))
	}
	if !r.head.hasDate {
		r.fields.add("date", r.st.c.s.dates.text(time.Now()))
	}
}

// bodyAllowed is RFC 9110, 6.4.1.
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// takeTrailers collects the announced trailers and those that the handler named
// with http.TrailerPrefix; nil: there are none to send.
func (r *response) takeTrailers() *fieldList {
	if r.isHead || !bodyAllowed(r.status) {
		return nil
	}
	var fields *fieldList
	take := func(name string, values []string) {
		if fields == nil {
			fields = newFieldList()
		}
		fields.addAll(name, values)
	}
	for name, values := range r.header {
		if bare, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			r.addTrailer(bare)
			r.header[http.CanonicalHeaderKey(bare)] = values
		}
	}
	for _, name := range r.trailers {
		if values, ok := r.header[name]; ok {
			take(name, values)
		}
	}
	if fields != nil && len(fields.list) == 0 {
		fieldLists.Put(fields)
		return nil
	}
	return fields
}
