package h2

// What a connection and a stream cost beside the bytes that Config bounds:
// measured, and rounded up. A test fills what a client can fill.
const (
	connOverhead  = 256 << 10 // frames and records in hand, tables, two goroutines
	fieldOverhead = 128       // an entry of the header map, of a field of no bytes
	// streamOverhead is a goroutine with its stack, a request and a context, and
	// the last chunk of a buffer in each direction, which may be nearly empty.
	streamOverhead = 10<<10 + 2*largeChunk
)

// ConnMemory is the most that a client can make this package hold for one
// connection, in bytes. What handlers, TLS and the kernel hold comes on top.
// It is a worst case of all limits at once; an idle connection holds less than 20 KiB.
func (c Config) ConnMemory() int64 {
	c.setDefaults()
	streams := int64(c.MaxConcurrentStreams)
	fields := min(streams*int64(c.MaxHeaderFields), int64(c.ConnHeaderBytes)/33) * fieldOverhead
	headers := 2 * int64(c.ConnHeaderBytes) // a path or a cookie may be there in two forms
	block := 4 * int64(c.MaxHeaderBytes)    // the one that is read: twice the limit, encoded and decoded
	bodies := int64(c.ConnWindow) + int64(c.ConnBuffer) + streams*minStreamBuffer
	return connOverhead + block + headers + fields + bodies + streams*streamOverhead
}
