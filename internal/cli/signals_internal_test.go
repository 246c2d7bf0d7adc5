package cli

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A terminal and a supervisor may each send one for the same wish to stop.
func TestSignalsThatComeTogetherAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals, stopped := make(chan os.Signal), make(chan struct{})
		var cause error
		code := 0
		go heed(signals, stopped, func(err error) { cause = err }, NewHurry(), func(c int) { code = c })
		signals <- syscall.SIGINT
		signals <- syscall.SIGTERM
		<-time.After(sameStop / 2)
		signals <- syscall.SIGTERM
		synctest.Wait()
		if cause != (InterruptedError{syscall.SIGINT}) || code != 0 {
			t.Fatalf("cause %v, exit code %d", cause, code)
		}
		<-time.After(sameStop)
		signals <- syscall.SIGTERM
		synctest.Wait()
		if want := exitSignal + int(syscall.SIGTERM); code != want {
			t.Errorf("after the second one the exit code is %d, want %d", code, want)
		}
		close(stopped)
	})
}
