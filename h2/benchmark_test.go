package h2_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/spillway-media/spillway/h2"
)

// BenchmarkServe asks net/http's server and this one for the same, one request
// after the other on a TLS connection. The client is a few frames that are made
// beforehand, so that time and allocations are the servers':
//
//	go test ./h2 -run '^$' -bench Serve -benchtime 1s
func BenchmarkServe(b *testing.B) {
	mib := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	loads := []struct {
		name    string
		handler http.HandlerFunc
		body    []byte
		answer  int64
	}{
		{"get=small", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "hello")
		}, nil, 5},
		{"get=1MiB", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/jpeg")
			_, _ = w.Write(mib)
		}, nil, 1 << 20},
		{"echo=48KiB", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "image/jpeg")
			buf := make([]byte, 32<<10)
			_, _ = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r.Body}, buf)
		}, mib[:48<<10], 48 << 10},
	}
	for _, server := range []string{"std", "ours"} {
		for _, load := range loads {
			b.Run(fmt.Sprintf("server=%s/%s", server, load.name), func(b *testing.B) {
				var configure func(*http.Server)
				if server == "ours" {
					configure = func(hs *http.Server) {
						if _, err := h2.Configure(hs, h2.Config{}); err != nil {
							b.Fatal(err)
						}
					}
				}
				c := newLean(b, connect(b, &http.Server{Handler: load.handler}, true, configure), load.body)
				b.SetBytes(load.answer + int64(len(load.body)))
				b.ReportAllocs()
				for b.Loop() {
					if got := c.ask(); got != load.answer {
						b.Fatalf("%d bytes", got)
					}
				}
			})
		}
	}
}

// lean is a client that makes no garbage.
type lean struct {
	b       *testing.B
	conn    net.Conn
	request []byte // the frames of a request, with the stream's number to be filled in
	places  []int  // where that is
	stream  uint32
	owed    uint32 // bytes for which the server has no window yet
	buf     []byte
}

func newLean(b *testing.B, conn net.Conn, body []byte) *lean {
	b.Helper()
	b.Cleanup(func() { _ = conn.Close() })
	c := &lean{b: b, conn: conn, buf: make([]byte, 64<<10), stream: 1}
	var block, out bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, f := range [][2]string{
		{":method", "GET"}, {":scheme", "https"}, {":path", "/a/picture.jpg?width=300"}, {":authority", "h2.test"},
		{"accept", "image/avif,image/webp,*/*"}, {"accept-encoding", "gzip, br"}, {"accept-language", "en"},
		{"priority", "u=3, i"}, {"referer", "https://h2.test/"}, {"sec-fetch-dest", "image"}, {"user-agent", "lean/1.0"},
	} {
		// Sensitive fields enter no table: the same bytes serve every time.
		if err := enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: true}); err != nil {
			b.Fatal(err)
		}
	}
	fr := http2.NewFramer(&out, nil)
	place := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	c.places = append(c.places, out.Len()+5)
	place(fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: body == nil}))
	for len(body) > 0 {
		part := body[:min(len(body), 16<<10)]
		body = body[len(part):]
		c.places = append(c.places, out.Len()+5)
		place(fr.WriteData(1, len(body) == 0, part))
	}
	c.request = bytes.Clone(out.Bytes())
	out.Reset()
	out.WriteString(http2.ClientPreface)
	place(fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 24}))
	place(fr.WriteWindowUpdate(0, 1<<30))
	_, err := conn.Write(out.Bytes())
	place(err)
	c.until(func(kind http2.FrameType, _ http2.Flags, _ []byte) bool { return kind == http2.FrameSettings })
	return c
}

// ask sends a request and answers how long its answer was.
func (c *lean) ask() (got int64) {
	for _, at := range c.places {
		binary.BigEndian.PutUint32(c.request[at:], c.stream)
	}
	c.stream += 2
	if _, err := c.conn.Write(c.request); err != nil {
		c.b.Fatal(err)
	}
	c.until(func(kind http2.FrameType, flags http2.Flags, payload []byte) bool {
		if kind == http2.FrameData {
			got += int64(len(payload))
		}
		return (kind == http2.FrameData || kind == http2.FrameHeaders) && flags.Has(http2.FlagDataEndStream)
	})
	if c.owed += uint32(got); c.owed > 1<<29 {
		update := binary.BigEndian.AppendUint32([]byte{0, 0, 4, byte(http2.FrameWindowUpdate), 0, 0, 0, 0, 0}, c.owed)
		if _, err := c.conn.Write(update); err != nil {
			c.b.Fatal(err)
		}
		c.owed = 0
	}
	return got
}

// until reads frames until one is enough.
func (c *lean) until(enough func(kind http2.FrameType, flags http2.Flags, payload []byte) bool) {
	for {
		if _, err := io.ReadFull(c.conn, c.buf[:9]); err != nil {
			c.b.Fatal(err)
		}
		n := int(c.buf[0])<<16 | int(c.buf[1])<<8 | int(c.buf[2])
		kind, flags := http2.FrameType(c.buf[3]), http2.Flags(c.buf[4])
		if _, err := io.ReadFull(c.conn, c.buf[:n]); err != nil {
			c.b.Fatal(err)
		}
		if kind == http2.FrameGoAway || kind == http2.FrameRSTStream {
			c.b.Fatalf("%v: %x", kind, c.buf[:n])
		}
		if kind == http2.FrameSettings && !flags.Has(http2.FlagSettingsAck) {
			if _, err := c.conn.Write([]byte{0, 0, 0, byte(http2.FrameSettings), byte(http2.FlagSettingsAck), 0, 0, 0, 0}); err != nil {
				c.b.Fatal(err)
			}
		}
		if enough(kind, flags, c.buf[:n]) {
			return
		}
	}
}
