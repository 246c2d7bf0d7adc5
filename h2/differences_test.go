package h2_test

import (
	"slices"
	"strings"

	"golang.org/x/net/http2"
)

// difference is one that is meant: why, and what makes net/http's outcome ours.
type difference struct {
	because string
	ours    func(o *outcome)
}

// malformed: net/http serves what RFC 9113 wants answered with a stream error,
// and so does not reach the handler here.
func malformed(because string) difference {
	return difference{because, func(o *outcome) {
		o.Streams = map[uint32]answer{1: {Reset: http2.ErrCodeProtocol.String()}}
		o.Notes = nil
	}}
}

// cutShort: the handler runs, and then the stream ends with code.
func cutShort(code http2.ErrCode, because string) difference {
	return difference{because, func(o *outcome) {
		o.Streams = map[uint32]answer{1: {Reset: code.String()}}
	}}
}

func noted(because string, notes ...string) difference {
	return difference{because, func(o *outcome) { o.Notes = notes }}
}

// answered changes the answer on stream 1.
func answered(because string, change func(a *answer)) difference {
	return difference{because, func(o *outcome) {
		a := o.Streams[1]
		change(&a)
		o.Streams[1] = a
	}}
}

func without(lines []string, name string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, name+": ") })
}

// interimWithout takes a field out of the informational headers.
func interimWithout(because, field string) difference {
	return answered(because, func(a *answer) {
		for i := range a.Interim {
			a.Interim[i] = strings.Replace(a.Interim[i], field+", ", "", 1)
		}
	})
}

const (
	connectionFields = "RFC 9113, 8.2.2: a request with a field of a connection is malformed; net/http answers 400"
	notAPath         = "RFC 9113, 8.3.1: :path is an absolute path, or * of OPTIONS; what else a proxy of HTTP/1.1 would make of it is not ours to try"
	notALength       = "RFC 9113, 8.1.1 and RFC 9110, 8.6: a content-length that is not one number cannot equal the body's"
	lengthOfRequest  = "RFC 9113, 8.1.1: a request whose content-length is not that of its body is malformed"
	lengthOfAnswer   = "RFC 9113, 8.1.1: an answer shorter or longer than its content-length is malformed; the client must not take it for the whole"
	hopByHop         = "RFC 9113, 8.2.2: no field of a connection is generated; net/http leaves out Connection only, and not from informational headers"
	hostIsPromoted   = "net/http documents that Host is not in the header map, and does so over HTTP/1.1"
)

// differences names those that are meant, each with its reason.
var differences = map[string]difference{
	"answer: 101 (Switching Protocols)": answered("RFC 9113, 8.6: HTTP/2 has no such response; net/http sends it",
		func(a *answer) { a.Interim = nil }),
	"answer: 204 with a length": answered("RFC 9110, 8.6: a 204 has no Content-Length",
		func(a *answer) { a.Header = without(a.Header, "content-length") }),
	"answer: trailers of 204": answered("RFC 9110, 6.4.1: a 204 ends with its header section",
		func(a *answer) { a.Trailers = nil }),
	"answer: a length and no body":                   cutShort(http2.ErrCodeInternal, lengthOfAnswer),
	"answer: a length that is not met":               cutShort(http2.ErrCodeInternal, lengthOfAnswer),
	"answer: a length that is not met, over a flush": answered(lengthOfAnswer, func(a *answer) { a.Body, a.Ended, a.Reset = "", false, http2.ErrCodeInternal.String() }),
	"answer: a length that is exceeded": {lengthOfAnswer, func(o *outcome) {
		o.Streams = map[uint32]answer{1: {Reset: http2.ErrCodeInternal.String()}}
		o.Notes = []string{"wrote 0 of 5, error true"}
	}},
	"answer: a length of zero that is exceeded": {lengthOfAnswer, func(o *outcome) {
		a := o.Streams[1]
		a.Body = ""
		o.Streams[1] = a
		o.Notes = []string{"flush: error false", "wrote 0 of 5, error true"}
	}},

	"header: a value with outer spaces": answered("RFC 9113, 8.2.1: a value neither starts nor ends with white space",
		func(a *answer) { a.Header[len(a.Header)-1] = "x-a: 1" }),
	"header: fields of a connection": answered(hopByHop, func(a *answer) {
		a.Header = without(without(without(a.Header, "keep-alive"), "proxy-connection"), "upgrade")
	}),

	"expectation: an expectation without a body": answered("RFC 9110, 10.1.1: there is no content to go on with",
		func(a *answer) { a.Interim = nil }),

	"body: a body and two lengths":               malformed(notALength),
	"body: a body and a list of lengths":         malformed(notALength),
	"body: a body and a length that is none":     malformed(notALength),
	"body: a body and a negative length":         malformed(notALength),
	"body: a body that is shorter than declared": cutShort(http2.ErrCodeProtocol, lengthOfRequest),
	"body: a body that ends before it begins":    cutShort(http2.ErrCodeProtocol, lengthOfRequest),
	"body: trailers and less than declared":      cutShort(http2.ErrCodeProtocol, lengthOfRequest),
	"body: a body and the same length twice": {"RFC 9110, 8.6: equal repetitions are replaced by one", func(o *outcome) {
		o.Notes[1] = `header [Content-Length=["5"]]`
	}},
	"body: a body that comes when all is over": answered("RFC 9113, 5.1: what a client sends before it has read a RST_STREAM is ignored",
		func(a *answer) { a.Reset = http2.ErrCodeNo.String() }),

	"surroundings: CloseNotifier":                      noted("deprecated since Go 1.11: the request's context ends", "false"),
	"surroundings: server push":                        noted("no browser accepts pushes any more; this server has none", "false"),
	"surroundings: a proxy":                            interimWithout(hopByHop, "connection: X-Secret"),
	"surroundings: a proxy that flushes":               interimWithout(hopByHop, "connection: X-Secret"),
	"surroundings: a proxy of a body":                  interimWithout(hopByHop, "connection: X-Secret"),
	"surroundings: a proxy of a request with trailers": interimWithout(hopByHop, "connection: X-Secret"),
	"surroundings: a write deadline that passes behind the handler": noted("Config.StreamBuffer: a handler may be ahead of its client, and be gone before it",
		"set: <nil>", "60000, <nil>"),

	"request: Connection":                      malformed(connectionFields),
	"request: Keep-Alive":                      malformed(connectionFields),
	"request: Proxy-Connection":                malformed(connectionFields),
	"request: Transfer-Encoding":               malformed(connectionFields),
	"request: Upgrade":                         malformed(connectionFields),
	"request: TE: gzip":                        malformed(connectionFields),
	"request: TE: Trailers":                    malformed(connectionFields),
	"request: a value with outer spaces":       malformed("RFC 9113, 8.2.1: a value neither starts nor ends with white space"),
	"request: a path in absolute form":         malformed(notAPath),
	"request: a path with a space":             malformed(notAPath),
	"request: a path with a fragment":          malformed(notAPath),
	"request: an asterisk":                     malformed(notAPath),
	"request: a method that is no token":       malformed("RFC 9110, 9.1: a method is a token; with a space in it, it is a smuggled request line"),
	"request: an empty authority":              malformed("RFC 9110, 4.2.1: an empty host is invalid and must be rejected"),
	"request: an authority that is none":       malformed("RFC 9113, 8.3.1: :authority is a host and a port"),
	"request: two hosts":                       malformed("RFC 9110, 7.2: a request has one Host; which of two a proxy believes is anybody's guess"),
	"request: a Host other than the authority": malformed("RFC 9113, 8.3.1: a Host that names somebody else makes a request malformed"),
	"request: a length without a body":         malformed(lengthOfRequest),
	"request: a Host equal to the authority":   {hostIsPromoted, func(o *outcome) { o.Notes[1] = "header []" }},
	"request: Host and no authority":           {hostIsPromoted, func(o *outcome) { o.Notes[1] = "header []" }},
	"request: more fields than anybody needs": {"Config.MaxHeaderFields: names without end are an attack (research on HPACK bombs)", func(o *outcome) {
		o.Streams = map[uint32]answer{1: {Status: "431", Ended: true}}
		o.Notes = nil
	}},
	"request: CONNECT": {"this is a server of resources, not a proxy (RFC 9110, 15.6.2)", func(o *outcome) {
		o.Streams = map[uint32]answer{1: {
			Status: "501",
			Header: []string{"content-length: 22", "content-type: text/plain; charset=utf-8", "date: now", "x-content-type-options: nosniff"},
			Body:   "CONNECT is not served\n",
			Ended:  true,
		}}
		o.Notes = nil
	}},
}
