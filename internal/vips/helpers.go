package vips

import (
	"slices"
	"sync"
	"time"

	"github.com/spillway-media/spillway/internal/sandbox"
)

// helperIdle is how long a helper waits for more to do. Starting one takes 60
// to 100 ms of CPU, most of it to link and start the libraries, and one that is
// there next to nothing; while it waits it holds some 20 MB of its own.
const helperIdle = 10 * time.Second

// helpers are the processes that encode for this one. There are as many as
// encodes go on that need one, and those left over from the last seconds.
type helpers struct {
	command, env []string
	threads      int

	mu      sync.Mutex
	idle    []*idler // guarded by mu, the last used at the end
	count   int      // guarded by mu
	started int64    // guarded by mu
	closed  bool     // guarded by mu
}

type idler struct {
	helper *sandbox.Helper
	expiry *time.Timer
}

func newHelpers(cfg Config) *helpers {
	return &helpers{command: cfg.Helper, env: cfg.HelperEnv, threads: max(cfg.ConcurrencyPerJob, 1)}
}

func (h *helpers) exist() bool { return len(h.command) > 0 }

// take gives a helper that is nobody else's.
func (h *helpers) take() (*sandbox.Helper, error) {
	for helper := h.takeIdle(); helper != nil; helper = h.takeIdle() {
		if !helper.Gone() {
			return helper, nil
		}
		_ = h.end(helper) // the system may have needed its memory
	}
	helper, err := sandbox.StartHelper(h.command, h.env)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count++
	h.started++
	return helper, nil
}

func (h *helpers) takeIdle() *sandbox.Helper {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.idle) == 0 {
		return nil
	}
	last := h.idle[len(h.idle)-1]
	h.idle = h.idle[:len(h.idle)-1]
	last.expiry.Stop()
	return last.helper
}

// giveBack keeps a helper that has done its work for the next who needs one.
func (h *helpers) giveBack(helper *sandbox.Helper) {
	h.mu.Lock()
	if !h.closed {
		i := &idler{helper: helper}
		i.expiry = time.AfterFunc(helperIdle, func() { h.expire(i) })
		h.idle = append(h.idle, i)
		h.mu.Unlock()
		return
	}
	h.mu.Unlock()
	_ = h.end(helper)
}

// expire ends a helper unless somebody has taken it at the last moment.
func (h *helpers) expire(i *idler) {
	h.mu.Lock()
	at := slices.Index(h.idle, i)
	if at >= 0 {
		h.idle = slices.Delete(h.idle, at, at+1)
	}
	h.mu.Unlock()
	if at >= 0 {
		_ = h.end(i.helper)
	}
}

// end ends a helper and waits until it is gone. The error says how it ended
// when that was on its own.
func (h *helpers) end(helper *sandbox.Helper) error {
	err := helper.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count--
	return err
}

func (h *helpers) close() {
	h.mu.Lock()
	idle := h.idle
	h.idle, h.closed = nil, true
	h.mu.Unlock()
	for _, i := range idle {
		i.expiry.Stop()
		_ = h.end(i.helper)
	}
}

func (h *helpers) stats() (count int, started int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count, h.started
}
