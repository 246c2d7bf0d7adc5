package cli

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// Hurry is the second signal to stop. It ends the process at once, unless a
// command takes it, because it has something to bring to safety first.
type Hurry struct {
	asked chan struct{}
	taken atomic.Bool
}

// NewHurry makes one that nobody has taken.
func NewHurry() *Hurry { return &Hurry{asked: make(chan struct{})} }

// Take gives a channel that is closed at the second signal; then only the third
// ends the process at once. A nil Hurry never hurries.
func (h *Hurry) Take() <-chan struct{} {
	if h == nil {
		return nil
	}
	h.taken.Store(true)
	return h.asked
}

// WithSignals gives a context that ends at the first SIGINT or SIGTERM, with
// InterruptedError as its cause, so that work can be brought to an orderly end. The
// second signal calls exit at once, for a user who does not want to wait, or is
// told to who has taken hurry; one that comes with the first is none. stop gives the signals back to the system.
func WithSignals(parent context.Context, hurry *Hurry, exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stopped := make(chan struct{})
	go heed(signals, stopped, cancel, hurry, exit)
	return ctx, func() {
		signal.Stop(signals)
		close(stopped)
		cancel(nil)
	}
}

// sameStop is for how long after the first signal another is the same wish: a
// terminal sends one to a whole group of processes, and what started this one
// may pass its own on. Nobody presses a key twice within it.
const sameStop = 200 * time.Millisecond

// heed counts signals until the last one or stopped.
func heed(signals <-chan os.Signal, stopped <-chan struct{}, cancel func(error), hurry *Hurry, exit func(code int)) {
	var same <-chan time.Time // runs after the first
	for n := 1; n <= 3; {
		select {
		case <-same:
			same = nil
		case s := <-signals:
			switch {
			case n == 1:
				cancel(InterruptedError{s})
				same = time.After(sameStop)
			case same != nil:
				continue
			case n == 2 && hurry.taken.Load():
				close(hurry.asked)
			default:
				exit(InterruptedError{s}.ExitCode())
				return
			}
			n++
		case <-stopped:
			return
		}
	}
}
