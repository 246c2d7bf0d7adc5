package traffic

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// LeanClient costs less CPU a request than a Client, for answers that cost the
// server next to nothing as well. Each user has a connection of its own.
type LeanClient struct{ address string }

// NewLeanClient asks the server at base, http://HOST:PORT.
func NewLeanClient(base string) *LeanClient {
	return &LeanClient{address: strings.TrimPrefix(base, "http://")}
}

// RunLean is Run with one connection a client. A client whose connection
// breaks goes on with a new one.
func (c Closed) RunLean(ctx context.Context, client *LeanClient) []Sample {
	began := time.Now()
	each := make([][]Sample, c.Clients)
	var group sync.WaitGroup
	for i := range c.Clients {
		group.Go(func() {
			for ctx.Err() == nil && time.Since(began) < c.whole() {
				each[i] = append(each[i], c.lean(ctx, client, began)...)
			}
		})
	}
	group.Wait()
	var all []Sample
	for _, samples := range each {
		all = append(all, samples...)
	}
	return all
}

// lean is the life of a connection.
func (c Closed) lean(ctx context.Context, client *LeanClient, began time.Time) (samples []Sample) {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", client.address)
	if err != nil {
		Wait(ctx, c.Pause)
		return []Sample{{Start: time.Since(began), Retry: -1}}
	}
	defer conn.Close()
	free := context.AfterFunc(ctx, func() { conn.Close() })
	defer free()
	answers := bufio.NewReader(conn)
	for ctx.Err() == nil {
		start := time.Since(began)
		if start >= c.whole() {
			break
		}
		s := client.exchange(conn, answers, c.Next())
		s.Start, s.Took = start, time.Since(began)-start
		samples = append(samples, s)
		if s.Status == 0 {
			break
		}
	}
	return samples
}

func (l *LeanClient) exchange(conn net.Conn, answers *bufio.Reader, target string) Sample {
	s := Sample{Retry: -1}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, l.address); err != nil {
		return s
	}
	answer, err := http.ReadResponse(answers, nil)
	if err != nil {
		return s
	}
	defer answer.Body.Close()
	s.Bytes, err = io.Copy(io.Discard, answer.Body)
	if err == nil {
		s.Status, s.Retry = answer.StatusCode, retryAfter(answer.Header)
	}
	return s
}
