package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// WithSignals gives a context that ends at the first SIGINT or SIGTERM, with
// InterruptedError as its cause, so that work can be brought to an orderly end. The
// second signal calls exit at once, for a user who does not want to wait.
// stop gives the signals back to the system.
func WithSignals(parent context.Context, exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stopped := make(chan struct{})
	go func() {
		for range 2 {
			select {
			case s := <-signals:
				if ctx.Err() != nil {
					exit(InterruptedError{s}.ExitCode())
					return
				}
				cancel(InterruptedError{s})
			case <-stopped:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(stopped)
		cancel(nil)
	}
}
