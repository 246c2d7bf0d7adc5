package h2_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http2"
)

func fields(end bool, pairs ...string) func(*peer) {
	return func(p *peer) {
		sent := slices.Clone(pairs) // the encounters over TLS and h2c run at once
		for i, v := range sent {
			if v == "SCHEME" {
				sent[i] = p.scheme
			}
		}
		p.raw(end, sent...)
	}
}

// more sends a GET with further fields, given in pairs.
func more(pairs ...string) func(*peer) {
	return func(p *peer) { p.get(pairs...) }
}

func path(value string) func(*peer) {
	return func(p *peer) { p.ask(1, true, "GET", value); p.Response(1) }
}

// requests are about what clients send; the handler writes down what it sees.
var requests = map[string]encounter{
	"a plain request":                 {},
	"a query":                         {client: path("/a/b?c=d&e=%20f")},
	"an escaped path":                 {client: path("/a%2Fb%20c")},
	"a path of two slashes":           {client: path("//a//b")},
	"a path with dots":                {client: path("/a/../b")},
	"a path beyond ASCII":             {client: path("/\xc3\xa4")},
	"a path with a space":             {client: path("/a b")},
	"a path with a fragment":          {client: path("/a#b")},
	"a path with half an escape":      {client: path("/%a")},
	"a path with a control character": {client: path("/a\x01")},
	"a path in absolute form":         {client: path("http://other.test/a")},
	"a path without its slash":        {client: path("a")},
	"an empty path":                   {client: path("")},
	"an asterisk":                     {client: path("*")},
	"OPTIONS for the whole server":    {client: func(p *peer) { p.ask(1, true, "OPTIONS", "*"); p.Response(1) }},
	"OPTIONS for the whole server, to handlers": {
		client: func(p *peer) { p.ask(1, true, "OPTIONS", "*"); p.Response(1) },
		server: func(hs *http.Server) { hs.DisableGeneralOptionsHandler = true },
	},
	"no authority":                      {client: fields(true, ":method", "GET", ":scheme", "SCHEME", ":path", "/")},
	"an empty authority":                {client: fields(true, ":method", "GET", ":scheme", "SCHEME", ":authority", "", ":path", "/")},
	"Host and no authority":             {client: fields(true, ":method", "GET", ":scheme", "SCHEME", ":path", "/", "host", "host.test")},
	"a Host equal to the authority":     {client: more("host", "h2.test")},
	"a Host other than the authority":   {client: more("host", "other.test")},
	"two hosts":                         {client: fields(true, ":method", "GET", ":scheme", "SCHEME", ":path", "/", "host", "a.test", "host", "b.test")},
	"user information in the authority": {client: fields(true, ":method", "GET", ":scheme", "SCHEME", ":authority", "me@h2.test", ":path", "/")},
	"an authority that is none":         {client: fields(true, ":method", "GET", ":scheme", "SCHEME", ":authority", "a b", ":path", "/")},
	"a scheme of another connection": {client: func(p *peer) {
		p.raw(true, ":method", "GET", ":scheme", other(p.scheme), ":authority", "a", ":path", "/")
	}},
	"a scheme of another protocol":             {client: fields(true, ":method", "GET", ":scheme", "ftp", ":authority", "a", ":path", "/")},
	"no scheme":                                {client: fields(true, ":method", "GET", ":authority", "a", ":path", "/")},
	"no method":                                {client: fields(true, ":scheme", "SCHEME", ":authority", "a", ":path", "/")},
	"no path":                                  {client: fields(true, ":method", "GET", ":scheme", "SCHEME", ":authority", "a")},
	"a method that is no token":                {client: fields(true, ":method", "GET /", ":scheme", "SCHEME", ":authority", "a", ":path", "/")},
	"a method in lower case":                   {client: fields(true, ":method", "get", ":scheme", "SCHEME", ":authority", "a", ":path", "/")},
	"a method twice":                           {client: fields(true, ":method", "GET", ":method", "GET", ":scheme", "SCHEME", ":authority", "a", ":path", "/")},
	"a status in a request":                    {client: fields(true, ":method", "GET", ":scheme", "SCHEME", ":authority", "a", ":path", "/", ":status", "200")},
	"a pseudo-header field nobody knows":       {client: fields(true, ":method", "GET", ":scheme", "SCHEME", ":authority", "a", ":path", "/", ":a", "b")},
	"a pseudo-header field behind another":     {client: fields(true, ":method", "GET", ":scheme", "SCHEME", "a", "b", ":authority", "a", ":path", "/")},
	"CONNECT":                                  {client: fields(true, ":method", "CONNECT", ":authority", "a.test:443")},
	"CONNECT with a path":                      {client: fields(true, ":method", "CONNECT", ":scheme", "SCHEME", ":authority", "a", ":path", "/")},
	"CONNECT with a protocol":                  {client: fields(false, ":method", "CONNECT", ":protocol", "websocket", ":scheme", "SCHEME", ":authority", "a", ":path", "/")},
	"many fields":                              {client: more(pairsOf(90)...)},
	"more fields than anybody needs":           {client: more(pairsOf(150)...)},
	"crumbs of a cookie":                       {client: more("cookie", "a=1", "x", "y", "cookie", "b=2")},
	"values in their order":                    {client: more("a", "2", "b", "x", "a", "1")},
	"an empty value":                           {client: more("a", "")},
	"a value beyond ASCII":                     {client: more("a", "\xc3\xa4\xff")},
	"a value with a tab inside":                {client: more("a", "b\tc")},
	"a value with outer spaces":                {client: more("a", " b ")},
	"a value with a newline":                   {client: more("a", "b\nc")},
	"a value with a zero byte":                 {client: more("a", "b\x00c")},
	"a name in upper case":                     {client: more("Abc", "d")},
	"a name with an underscore":                {client: more("a_b", "c", "1", "2", "a.b", "d")},
	"a name with a space":                      {client: more("a b", "c")},
	"a name with a colon":                      {client: more("a:b", "c")},
	"an empty name":                            {client: more("", "c")},
	"a name beyond ASCII":                      {client: more("\xc3\xa4", "c")},
	"Connection":                               {client: more("connection", "close")},
	"Keep-Alive":                               {client: more("keep-alive", "1")},
	"Proxy-Connection":                         {client: more("proxy-connection", "keep-alive")},
	"Transfer-Encoding":                        {client: more("transfer-encoding", "chunked")},
	"Upgrade":                                  {client: more("upgrade", "h2c")},
	"TE: trailers":                             {client: more("te", "trailers")},
	"TE: Trailers":                             {client: more("te", "Trailers")},
	"TE: gzip":                                 {client: more("te", "gzip")},
	"an empty TE":                              {client: more("te", "")},
	"a large field":                            {client: more("a", strings.Repeat("b", 15000))},
	"a length without a body":                  {client: more("content-length", "5")},
	"a length of zero without a body":          {client: more("content-length", "0")},
	"an announcement of trailers without them": {client: more("trailer", "A, Content-Length")},
	"a request behind PRIORITY": {client: func(p *peer) {
		p.Must(p.Framer.WritePriority(1, http2.PriorityParam{StreamDep: 0, Weight: 10}))
		p.get()
	}},
	"a request with a priority": {client: func(p *peer) {
		p.Must(p.Framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 1, BlockFragment: p.Block(p.fields("GET", "/", "priority", "u=1, i")...), EndStream: true, EndHeaders: true,
			Priority: http2.PriorityParam{StreamDep: 0, Exclusive: true, Weight: 255},
		}))
		p.Response(1)
	}},
	"a padded request": {client: func(p *peer) {
		p.Must(p.Framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 1, BlockFragment: p.Block(p.fields("GET", "/")...), EndStream: true, EndHeaders: true, PadLength: 200,
		}))
		p.Response(1)
	}},
	"a request in small pieces": {client: func(p *peer) {
		block := p.Block(p.fields("GET", "/", "a", "b", "c", "d")...)
		p.Must(p.Framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:3], EndStream: true}))
		p.Must(p.Framer.WriteContinuation(1, false, block[3:7]))
		p.Must(p.Framer.WriteContinuation(1, false, nil))
		p.Must(p.Framer.WriteContinuation(1, true, block[7:]))
		p.Response(1)
	}},
	"a request behind frames nobody knows": {client: func(p *peer) {
		p.Must(p.Framer.WriteRawFrame(0x0b, 0xff, 1, []byte("ORIGIN?")))
		p.Must(p.Framer.WriteRawFrame(0xfa, 0, 0, nil))
		p.get()
	}},
	"streams that leave some out": {client: func(p *peer) {
		p.ask(7, true, "GET", "/")
		p.Response(7)
		p.ask(101, true, "GET", "/")
		p.Response(101)
	}},
}

func other(scheme string) string {
	if scheme == "http" {
		return "https"
	}
	return "http"
}

func pairsOf(n int) []string {
	var pairs []string
	for i := range n {
		pairs = append(pairs, fmt.Sprintf("x-%d", i), "v")
	}
	return pairs
}
