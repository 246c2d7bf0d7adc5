package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/bench/load/traffic"
)

// origin is a web server with the pictures. What is below /slow/ takes three
// seconds to begin, what is below /trickle/ comes in drops, and all of it may
// be kept for an hour.
type origin struct {
	listener net.Listener
	server   *http.Server
	root     string
	asked    atomic.Int64
}

const (
	slowStart = 3 * time.Second
	drop      = 4 << 10
	dropEvery = 100 * time.Millisecond
)

func startOrigin(ctx context.Context, root string) (*origin, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start origin: %w", err)
	}
	o := &origin{listener: listener, root: root}
	o.server = &http.Server{Handler: http.HandlerFunc(o.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = o.server.Serve(listener) }()
	return o, nil
}

func (o *origin) close() {
	if err := o.server.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		fmt.Fprintln(os.Stderr, "load: close origin:", err)
	}
}

func (o *origin) host() string { return o.listener.Addr().String() }

// url is where a key of the pictures is found; how is "", "slow/" or "trickle/".
func (o *origin) url(how, key string) string { return "http://" + o.host() + "/" + how + key }

func (o *origin) serve(w http.ResponseWriter, r *http.Request) {
	o.asked.Add(1)
	key := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	slow, isSlow := strings.CutPrefix(key, "slow/")
	thin, isThin := strings.CutPrefix(key, "trickle/")
	switch {
	case isSlow:
		key = slow
		if !traffic.Wait(r.Context(), slowStart) {
			return
		}
	case isThin:
		key = thin
	}
	data, err := os.ReadFile(filepath.Join(o.root, filepath.FromSlash(key)))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "max-age=3600")
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, len(data)))
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	if isThin {
		trickle(r.Context(), w, data)
		return
	}
	_, _ = w.Write(data)
}

// trickle writes drops with pauses.
func trickle(ctx context.Context, w http.ResponseWriter, data []byte) {
	control := http.NewResponseController(w)
	for len(data) > 0 && traffic.Wait(ctx, dropEvery) {
		n := min(drop, len(data))
		if _, err := w.Write(data[:n]); err != nil || control.Flush() != nil {
			return
		}
		data = data[n:]
	}
}
