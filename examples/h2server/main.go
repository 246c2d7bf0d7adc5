// Command h2server is the least that package h2 needs: a server on which
// pictures that load together all show their size first, then a preview, then
// the rest. An argument is where it listens, in place of 127.0.0.1:8082.
package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/h2/priority"
)

func main() {
	address := append(os.Args, "127.0.0.1:8082")[1]
	server := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: 10 * time.Second}
	if _, err := h2.Configure(server, h2.Config{}); err != nil {
		fatal(err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		fatal(err)
	}
	fmt.Printf("try: curl --http2-prior-knowledge http://%s/\n", listener.Addr())
	fmt.Printf("the frames of three pictures: nghttp -nv 'http://%s/picture?'{1,2,3} | grep 'recv DATA'\n", listener.Addr())
	fatal(server.Serve(listener))
}

// answer sends a picture's worth of dots, and says what each part of it is.
func answer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/picture" {
		fmt.Fprintf(w, "Hello over %s.\n", r.Proto)
		return
	}
	for _, part := range []struct {
		phase priority.Phase
		bytes int
	}{{priority.Header, 159}, {priority.Preview, 9 << 10}, {priority.Good, 40 << 10}, {priority.Rest, 50 << 10}} {
		// Over HTTP/1.1 there is nothing to put in order, and the mark is
		// refused; what is written goes out all the same.
		_ = h2.SetPhase(w, part.phase, int64(part.bytes))
		if _, err := w.Write(bytes.Repeat([]byte{'.'}, part.bytes)); err != nil {
			return // the client has left
		}
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "h2server:", err)
	os.Exit(1)
}
