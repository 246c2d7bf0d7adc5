package site

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/bench/load/traffic"
	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/h2/priority"
)

// Site is a handler: /p/NAME is a picture, /small a few bytes, /large a
// mebibyte, / a page of pictures.
type Site struct {
	pictures map[string]*Picture
	page     []byte
	large    []byte
	// encoders hands out the right to encode; without it all pictures are
	// ready when they are asked for.
	encoders chan struct{}
	encode   time.Duration
	// SmallAt is when the latest answer to /small was written, in nanoseconds.
	SmallAt atomic.Int64
}

// SmallBody is the answer to /small, as large as the header of a picture.
const SmallBody = "These are about as many bytes as the header of a picture has: dimensions, tables, and the layout of its components. " +
	"What a page needs of each picture before it can be laid out fits into a single packet, which is why it is worth sending at once.\n"

// LargeSize is that of the answer to /large.
const LargeSize = 1 << 20

// New serves pictures as soon as they are asked for.
func New(pictures []*Picture) *Site {
	s := &Site{pictures: map[string]*Picture{}, large: make([]byte, LargeSize)}
	var names []string
	for _, p := range pictures {
		s.pictures[p.Name] = p
		names = append(names, p.Name)
	}
	var page strings.Builder
	page.WriteString(gallery)
	for _, name := range names {
		fmt.Fprintf(&page, "<img src=\"/p/%s\" alt=\"\">\n", name)
	}
	s.page = []byte(page.String())
	return s
}

// Encoding lets every picture take an encoder for so long, of which there are
// some; pictures wait for one in the order in which they are asked for.
func (s *Site) Encoding(encoders int, each time.Duration) *Site {
	s.encoders, s.encode = make(chan struct{}, encoders), each
	return s
}

// gallery shows pictures in a grid whose boxes all have one size, so that a
// screenshot shows how far each has come.
const gallery = `<!DOCTYPE html><title>Gallery</title>
<style>body{margin:0;background:#15181c;display:grid;grid-template-columns:repeat(8,1fr);gap:4px;padding:4px}
img{width:100%;aspect-ratio:4/3;object-fit:cover;background:#2a2f36;display:block}</style>
`

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		send(w, "text/html; charset=utf-8", s.page)
	case "/small":
		s.SmallAt.Store(time.Now().UnixNano())
		send(w, "text/plain; charset=utf-8", []byte(SmallBody))
	case "/large":
		send(w, "application/octet-stream", s.large)
	default:
		p := s.pictures[strings.TrimPrefix(r.URL.Path, "/p/")]
		if p == nil || !s.ready(r) {
			http.NotFound(w, r)
			return
		}
		sendPicture(w, p)
	}
}

func send(w http.ResponseWriter, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that has gone is dealt with by the server
}

// ready takes the time of an encoder, and tells whether the client still waits.
func (s *Site) ready(r *http.Request) bool {
	if s.encoders == nil {
		return true
	}
	select {
	case s.encoders <- struct{}{}:
		defer func() { <-s.encoders }()
		return traffic.Wait(r.Context(), s.encode)
	case <-r.Context().Done():
		return false
	}
}

// sendPicture says of each part what it is good for. To a server that does not
// listen, as Go's own, it gives the picture in one piece, as any handler would:
// parts would become frames that it does not make of whole pictures.
func sendPicture(w http.ResponseWriter, p *Picture) {
	w.Header().Set("Content-Type", "image/jpeg")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(p.Data)))
	data := p.Data
	for _, phase := range []priority.Phase{priority.Header, priority.Preview, priority.Good, priority.Rest} {
		size := p.Sizes.Of(phase)
		if h2.SetPhase(w, phase, size) != nil {
			size = int64(len(data))
		}
		if _, err := w.Write(data[:size]); err != nil {
			return
		}
		data = data[size:]
	}
}

// Path is where a picture is.
func (p *Picture) Path() string { return fmt.Sprintf("/p/%s", p.Name) }

// Page is the body of /.
func (s *Site) Page() []byte { return s.page }
