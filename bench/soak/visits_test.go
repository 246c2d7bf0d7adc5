package soak_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// wish is one kind of request and what may come of it.
type wish struct {
	target string
	// fine are the statuses that are right however idle the server is; with
	// 200 the bytes have to be those of the first time.
	fine []int
	// loose wishes have bytes that may differ: which of several origins or
	// moments they come from is not fixed.
	loose bool
}

// manner is how a visitor behaves.
type manner int

const (
	patient  manner = iota // reads to the end
	hasty                  // leaves before the answer
	fickle                 // leaves in the middle of it
	sluggish               // reads slowly
	manners
)

// answer is one of those that can be compared. Over HTTP/2 a JPEG is another.
type answer struct {
	client *http.Client
	target string
}

// visits is what came of all of them.
type visits struct {
	url     string
	clients []*http.Client               // one for each version of HTTP
	lines   *lines                       // theirs
	sums    map[answer][sha256.Size]byte // of answers when nothing else ran

	mu        sync.Mutex
	count     [manners]int
	by        map[int]int // answers by status
	protocols map[string]int
	merged    int
	wrong     []string
}

// allowed tells whether an answer under load is right or a deliberate refusal.
func (w wish) allowed(resp *http.Response) string {
	for _, status := range w.fine {
		if resp.StatusCode == status {
			return ""
		}
	}
	if resp.StatusCode != http.StatusServiceUnavailable {
		return fmt.Sprintf("status %d", resp.StatusCode)
	}
	if after, err := strconv.Atoi(resp.Header.Get("Retry-After")); err != nil || after < 1 {
		return "a refusal without Retry-After"
	}
	return ""
}

// same tells whether a good answer is the one the server gave when it was
// idle. Decoded together with other sizes its bytes may differ, and its tag
// says so; then it must at least be a picture of the same kind.
func (v *visits) same(w wish, client *http.Client, resp *http.Response, body []byte) string {
	switch tag := resp.Header.Get("ETag"); {
	case w.loose:
		return ""
	case strings.Contains(tag, "."):
		v.mu.Lock()
		v.merged++
		v.mu.Unlock()
		if len(body) < 100 {
			return fmt.Sprintf("%d bytes of a merged answer", len(body))
		}
		return ""
	case resp.Header.Get("Spillway-Effort") != "":
		return ""
	}
	if sha256.Sum256(body) != v.sums[answer{client, w.target}] {
		return fmt.Sprintf("other bytes over %s than at the start (%d of them, tag %s)", resp.Proto, len(body), resp.Header.Get("ETag"))
	}
	return ""
}

// visit is one request. What its visitor gives up is no answer at all.
func (v *visits) visit(ctx context.Context, w wish, how manner, random *rand.Rand) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	if how == hasty {
		timer := time.AfterFunc(time.Duration(random.IntN(300))*time.Millisecond, leave)
		defer timer.Stop()
	}
	fault := v.ask(ctx, w, how, v.clients[random.IntN(len(v.clients))])
	v.mu.Lock()
	defer v.mu.Unlock()
	v.count[how]++
	if fault != "" && ctx.Err() == nil {
		v.wrong = append(v.wrong, fmt.Sprintf("%s: %s", w.target, fault))
	}
}

func (v *visits) ask(ctx context.Context, w wish, how manner, client *http.Client) (fault string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+w.target, nil)
	if err != nil {
		return err.Error()
	}
	resp, err := client.Do(r)
	if err != nil {
		return "no answer: " + err.Error()
	}
	defer resp.Body.Close()
	v.mu.Lock()
	v.by[resp.StatusCode]++
	v.protocols[resp.Proto]++
	v.mu.Unlock()
	if fault = w.allowed(resp); fault != "" {
		return fault
	}
	if how == fickle {
		_, _ = io.CopyN(io.Discard, resp.Body, 1500)
		return ""
	}
	body, err := read(ctx, resp.Body, how)
	if err != nil {
		// A fault that shows late breaks the connection: never a short body
		// that looks whole.
		if len(w.fine) > 0 && w.fine[0] == http.StatusOK && !w.loose {
			return "broke off: " + err.Error()
		}
		return ""
	}
	if resp.StatusCode == http.StatusOK {
		return v.same(w, client, resp, body)
	}
	return ""
}

// read takes it all, if need be a little at a time for three seconds, and then
// the rest.
func read(ctx context.Context, body io.Reader, how manner) ([]byte, error) {
	var all bytes.Buffer
	for step := 0; how == sluggish && step < 30; step++ {
		if _, err := io.CopyN(&all, body, 700); errors.Is(err, io.EOF) {
			return all.Bytes(), nil
		} else if err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	_, err := io.Copy(&all, body)
	return all.Bytes(), err
}
