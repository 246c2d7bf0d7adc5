package h2_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/h2/priority"
)

// handle answers with a picture of which it knows what the bytes are good for.
func handle(w http.ResponseWriter, _ *http.Request) {
	for _, part := range []struct {
		phase priority.Phase
		bytes []byte
	}{
		{priority.Header, bytes.Repeat([]byte{'h'}, 160)},
		{priority.Preview, bytes.Repeat([]byte{'p'}, 9_000)},
		{priority.Rest, bytes.Repeat([]byte{'r'}, 70_000)},
	} {
		// Over HTTP/1.1 the mark is refused, and the bytes are sent all the same.
		_ = h2.SetPhase(w, part.phase, int64(len(part.bytes)))
		if _, err := w.Write(part.bytes); err != nil {
			return // the client has left
		}
	}
}

// A server that net/http runs, and a handler that marks what it writes. Where
// many such pictures are loaded over one connection, the headers of all leave
// first, then the previews, then the rest.
func Example() {
	server := &http.Server{Handler: http.HandlerFunc(handle)}
	http2, err := h2.Configure(server, h2.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }() // ServeTLS to speak it over TLS

	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	answer, err := client.Get("http://" + listener.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := io.ReadAll(answer.Body)
	fmt.Println(answer.Proto, answer.Status, len(body), err)
	_ = answer.Body.Close() // it has been read

	fmt.Println("stopped:", server.Shutdown(context.Background()), <-served)
	sent := http2.Stats()
	for _, phase := range []priority.Phase{priority.Header, priority.Preview, priority.Rest} {
		fmt.Println(phase, sent.Bytes[phase])
	}
	// Output:
	// HTTP/2.0 200 OK 79160 <nil>
	// stopped: <nil> http: Server closed
	// header 160
	// preview 9000
	// rest 70000
}
