package h2

import (
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// decodeStep is how much of a fragment is decoded before limits are looked at
// again: once a block is beyond them, at most so many bytes more are worked on.
const decodeStep = 4 << 10

// A headerBlock puts HEADERS and CONTINUATION frames together and decodes them
// as they come. The Framer could do that too, but inside one call, where nobody
// can count frames. It belongs to the reader of a connection.
//
// A block a little over the limits is decoded to its end, so that the HPACK
// tables of both sides stay the same, and its request can be answered 431. A
// block of twice the limits ends the connection, and the work, at once.
type headerBlock struct {
	maxBytes, maxFields, maxContinuations int

	dec    *hpack.Decoder
	fields []hpack.HeaderField
	// count and size are of all fields, those included that were not kept.
	count, size   int
	continuations int
	wire          int
}

func newHeaderBlock(cfg *Config) *headerBlock {
	b := &headerBlock{
		maxBytes:         cfg.MaxHeaderBytes,
		maxFields:        cfg.MaxHeaderFields,
		maxContinuations: cfg.MaxContinuations,
	}
	b.dec = hpack.NewDecoder(headerTableSize, b.keep)
	b.dec.SetMaxStringLength(2 * b.maxBytes)
	return b
}

// headerTableSize is the HPACK table that a client may fill (RFC 9113, 6.5.2).
const headerTableSize = 4096

// begin starts a new block with the fragment of a HEADERS frame.
func (b *headerBlock) begin(fragment []byte, end bool) error {
	b.forget()
	b.count, b.size, b.continuations, b.wire = 0, 0, 0, 0
	return b.decode(fragment, end)
}

// proceed adds a CONTINUATION frame. Errors are of the connection, here as in
// begin: without the rest of a block no later block can be decoded.
func (b *headerBlock) proceed(fragment []byte, end bool) error {
	b.continuations++
	if b.continuations > b.maxContinuations {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	return b.decode(fragment, end)
}

func (b *headerBlock) decode(fragment []byte, end bool) error {
	b.wire += len(fragment)
	if b.wire > 2*b.maxBytes {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	for len(fragment) > 0 {
		step := fragment[:min(decodeStep, len(fragment))]
		fragment = fragment[len(step):]
		_, err := b.dec.Write(step)
		if b.size > 2*b.maxBytes || b.count > 2*b.maxFields || err == hpack.ErrStringLength { //nolint:errorlint // the decoder documents this very value
			return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
		}
		if err != nil {
			return http2.ConnectionError(http2.ErrCodeCompression)
		}
	}
	if end && b.dec.Close() != nil {
		return http2.ConnectionError(http2.ErrCodeCompression)
	}
	return nil
}

// keep counts a field, and keeps it while the limits hold. Crumbs of a cookie
// are fields like any other: they are counted before they are joined.
func (b *headerBlock) keep(f hpack.HeaderField) {
	b.count++
	b.size += int(f.Size())
	switch {
	case !b.tooLarge():
		b.fields = append(b.fields, f)
	case b.size > 2*b.maxBytes || b.count > 2*b.maxFields:
		b.dec.SetEmitEnabled(false) // for good: the connection ends
	default:
		b.fields = nil
	}
}

// tooLarge says that the request is to be answered 431 (RFC 6585, section 5).
func (b *headerBlock) tooLarge() bool {
	return b.size > b.maxBytes || b.count > b.maxFields
}

// take hands out the fields of a complete block; nil when it was too large. They
// are good until forget or the next block.
func (b *headerBlock) take() []hpack.HeaderField { return b.fields }

// forget keeps nothing of a block but room for the fields of the next.
func (b *headerBlock) forget() {
	clear(b.fields)
	b.fields = b.fields[:0]
}
