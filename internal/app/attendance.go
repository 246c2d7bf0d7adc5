package app

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// partingTime is for requests whose connections were closed. It is enough to
// notice, to give back what they hold and to be logged, and no more than a stop
// that has already taken its time may wait.
const partingTime = time.Second

// attendance counts the requests of a door that are being answered. net/http
// does not wait for those whose connections it has closed, and those still use
// what the program gives back at its end.
type attendance struct {
	mu    sync.Mutex
	count int           // guarded by mu
	empty chan struct{} // guarded by mu; closed by the last, nil while nobody waits
}

// take counts the requests of next.
func (a *attendance) take(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.enter()
		defer a.leave()
		next.ServeHTTP(w, r)
	})
}

func (a *attendance) enter() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count++
}

func (a *attendance) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count--; a.count == 0 && a.empty != nil {
		close(a.empty)
		a.empty = nil
	}
}

// await returns when nobody is left, or when ctx ends.
func (a *attendance) await(ctx context.Context) {
	a.mu.Lock()
	if a.count == 0 {
		a.mu.Unlock()
		return
	}
	if a.empty == nil {
		a.empty = make(chan struct{})
	}
	empty := a.empty
	a.mu.Unlock()
	select {
	case <-empty:
	case <-ctx.Done():
	}
}
