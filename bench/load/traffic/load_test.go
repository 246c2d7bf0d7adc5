package traffic_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-media/spillway/bench/load/traffic"
)

func serve(t *testing.T, handler http.HandlerFunc) *traffic.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client := traffic.NewClient(server.URL)
	t.Cleanup(client.Close)
	return client
}

func TestClientTellsWhatCameOfARequest(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			w.Header().Set("Spillway-Effort", "reduced")
			_, _ = w.Write([]byte("picture"))
		case "/busy":
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/rude":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/broken":
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("pict"))
		}
	})
	for path, want := range map[string]traffic.Sample{
		"/good":   {Status: 200, Bytes: 7, Retry: -1, Eased: true},
		"/busy":   {Status: 503, Retry: 3},
		"/rude":   {Status: 503, Retry: -1},
		"/broken": {Status: 0, Bytes: 4, Retry: -1},
	} {
		var body bytes.Buffer
		got, _ := client.Fetch(t.Context(), path, nil, &body)
		if got.Took <= 0 || int64(body.Len()) != got.Bytes {
			t.Errorf("%s: took %s, %d of %d bytes handed on", path, got.Took, body.Len(), got.Bytes)
		}
		if got.Bytes > 0 && (got.First <= 0 || got.First > got.Took) {
			t.Errorf("%s: first byte after %s, last after %s", path, got.First, got.Took)
		}
		got.Took, got.First = 0, 0
		if got != want {
			t.Errorf("%s = %+v, want %+v", path, got, want)
		}
	}
}

func TestClientThatLeavesIsGone(t *testing.T) {
	left := make(chan struct{})
	arrived := make(chan struct{})
	client := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(left)
	})
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-arrived; leave() }()
	if got := client.Get(ctx, "/", nil, time.Now()); got.Status != 0 {
		t.Errorf("status = %d, want none", got.Status)
	}
	<-left
}

func TestOpenLoopWaitsForNobody(t *testing.T) {
	// The first ones are held until many more have come. A load that waited for
	// an answer before it asked again would stand still here.
	const held = 20
	var come atomic.Int64
	open := make(chan struct{})
	client := serve(t, func(http.ResponseWriter, *http.Request) {
		if come.Add(1) == held {
			close(open)
		}
		<-open
	})
	load := traffic.Open{Window: traffic.Window{Length: 200 * time.Millisecond}, Rate: 300, Seed: 3, Next: func() string { return "/" }}
	samples := load.Run(t.Context(), client)
	moments := traffic.Arrivals(300, 200*time.Millisecond, 3)
	if len(samples) != len(moments) {
		t.Fatalf("%d requests, want %d", len(samples), len(moments))
	}
	for i, s := range samples {
		if !s.OK() || s.Start != moments[i] {
			t.Errorf("request %d: status %d, meant for %s, began at %s", i, s.Status, moments[i], s.Start)
		}
	}
	// The first one had to wait for the twentieth to be meant to come.
	if least := moments[held-1] - moments[0]; samples[0].Took < least {
		t.Errorf("the first took %s, less than the %s for which it was held", samples[0].Took, least)
	}
}

func TestClosedLoopHasItsClientsAndNoMore(t *testing.T) {
	var now, most atomic.Int64
	var mu sync.Mutex
	client := serve(t, func(http.ResponseWriter, *http.Request) {
		n := now.Add(1)
		mu.Lock()
		most.Store(max(most.Load(), n))
		mu.Unlock()
		now.Add(-1)
	})
	load := traffic.Closed{Window: traffic.Window{Length: 100 * time.Millisecond}, Clients: 3, Next: func() string { return "/" }}
	samples := load.Run(t.Context(), client)
	if n := most.Load(); n > 3 || n < 1 {
		t.Errorf("%d requests at once, want 1 to 3", n)
	}
	for _, s := range samples {
		if !s.OK() || s.Start >= 100*time.Millisecond {
			t.Errorf("sample %+v does not belong here", s)
		}
	}
}

func TestRefusedClientsComeBackWhenTheyAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		honour     bool
		once, more bool
	}{
		"one that honours Retry-After asks once within the second": {honour: true, once: true},
		"one that does not asks again and again":                   {honour: false, more: true},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(http.StatusServiceUnavailable)
			})
			load := traffic.Closed{
				Window: traffic.Window{Length: 200 * time.Millisecond}, Clients: 1, Honour: c.honour,
				Pause: time.Millisecond, Next: func() string { return "/" },
			}
			load.Run(t.Context(), client)
			if n := asked.Load(); c.once && n != 1 || c.more && n < 2 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestLeanClientsAskAsOthersDo(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Every fifth connection is broken off; the client has to go on.
		if asked.Add(1)%5 == 0 {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write([]byte(strings.Repeat("x", len(r.URL.Path))))
	}))
	t.Cleanup(server.Close)
	load := traffic.Closed{Window: traffic.Window{Length: 200 * time.Millisecond}, Clients: 2, Next: func() string { return "/four" }}
	samples := load.RunLean(t.Context(), traffic.NewLeanClient(server.URL))
	good, broken := 0, 0
	for _, s := range samples {
		switch {
		case s.OK() && s.Bytes == 5:
			good++
		case s.Status == 0:
			broken++
		default:
			t.Errorf("sample %+v", s)
		}
	}
	if good < 5 || broken == 0 || int64(good+broken) != asked.Load() {
		t.Errorf("%d good, %d broken of %d asked", good, broken, asked.Load())
	}
}
