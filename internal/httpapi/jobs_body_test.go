package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/httpapi"
)

// post begins a request whose body is still to come.
func (b *jobBench) post(t *testing.T, target, token string, length int) net.Conn {
	t.Helper()
	t.Cleanup(func() { <-time.After(time.Second) }) // a server lingers before it cuts off who still sends
	client := serveOne(t, &http.Server{Handler: b.public})
	if _, err := fmt.Fprintf(client, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", target, token, length); err != nil {
		t.Fatal(err)
	}
	return client
}

func response(t *testing.T, client net.Conn) *http.Response {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestBodiesThatDoNotArrive(t *testing.T) {
	patience := func(c *httpapi.JobsConfig) { c.BodyTimeout = 10 * time.Second }
	for name, c := range map[string]struct{ target, sent string }{
		"a document": {"/v1/jobs", `{"type":`},
		"an upload":  {"/v1/uploads", "half"},
		"nothing":    {"/v1/jobs/1/cancel", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newJobBench(t, patience)
				b.enter(t, `{"type":"echo"}`)
				client := b.post(t, c.target, b.who, 100)
				io.WriteString(client, c.sent)
				began := time.Now()
				res := response(t, client)
				wantProblem(t, res, 408, "body-timeout")
				if took := time.Since(began); took != 10*time.Second || !res.Close {
					t.Errorf("after %s, close %v", took, res.Close)
				}
			})
		})
	}
	t.Run("an upload may take long if it does not stand still", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newJobBench(t, patience)
			client := b.post(t, "/v1/uploads", b.who, 20)
			for range 20 {
				<-time.After(9 * time.Second)
				io.WriteString(client, "x")
			}
			if res := response(t, client); res.StatusCode != 201 {
				t.Errorf("got %d", res.StatusCode)
			}
		})
	})
	t.Run("who is refused is refused at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newJobBench(t, patience)
			began := time.Now()
			client := b.post(t, "/v1/uploads", "x", 1<<30)
			wantProblem(t, response(t, client), 401, "unauthorized")
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("after %s", took)
			}
		})
	})
	t.Run("an upload that says it is too large is not read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newJobBench(t, patience)
			wantProblem(t, response(t, b.post(t, "/v1/uploads", b.who, 1<<30)), 413, "upload-too-large")
		})
	})
}

// A connection is used again after a body, and its time is not that of the
// next answer.
func TestAConnectionGoesOnAfterABody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := running(t, func(c *httpapi.JobsConfig) { c.BodyTimeout = 10 * time.Second })
		client := b.post(t, "/v1/jobs", b.who, len(`{"type":"echo"}`))
		io.WriteString(client, `{"type":"echo"}`)
		reader := bufio.NewReader(client)
		res, err := http.ReadResponse(reader, nil)
		if err != nil || res.StatusCode != 201 {
			t.Fatalf("got %v, %v", res, err)
		}
		body(t, res)
		fmt.Fprintf(client, "GET /v1/jobs/1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", b.who)
		if res, err = http.ReadResponse(reader, nil); err != nil || res.StatusCode != 200 {
			t.Fatalf("got %v, %v", res, err)
		}
		w := &watching{res: res, lines: bufio.NewScanner(res.Body)}
		w.event(t)
		for range 4 {
			if got := w.comment(); got != "still here" {
				t.Fatalf("got %q", got)
			}
		}
		b.begin(t)
		if got := w.event(t); got != "state running 0/0" {
			t.Errorf("got %s", got)
		}
	})
}

// The listener takes in the bodies that no route wants, and leaves the others.
func TestWhichRoutesTakeABody(t *testing.T) {
	b := newJobBench(t, nil)
	taker := b.public.(interface{ TakesBody(*http.Request) bool })
	for request, want := range map[string]bool{
		"POST /v1/jobs": true, "POST /v1/uploads": true, "POST /v1/jobs/1/cancel": true, "POST /v1/jobs/1/retry": true,
		"GET /v1/jobs": false, "PUT /v1/jobs": false, "POST /v1/queues": false, "POST /v1/jobs/1": false, "POST /v1/none": false,
		"POST /resize": false, "GET /v1/jobs/1/events": false,
	} {
		method, target, _ := strings.Cut(request, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := taker.TakesBody(r); got != want {
			t.Errorf("%s: %v", request, got)
		}
	}
	if newBench(t, nil).public.(interface{ TakesBody(*http.Request) bool }).TakesBody(&http.Request{Method: "POST", URL: nil}) {
		t.Error("a server without jobs takes bodies")
	}
}
