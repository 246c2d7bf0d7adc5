package source

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

func TestPace(t *testing.T) {
	type read struct {
		n    int
		took time.Duration
	}
	const s = time.Second
	cases := []struct {
		name  string
		need  int64
		reads []read
		want  bool
	}{
		{"the wait for the first byte is another clock's", 100, []read{{0, 60 * s}, {1, 60 * s}}, true},
		{"a byte a second is too slow", 100, []read{{1, s}, {1, s}, {1, s}, {1, s}, {1, s}, {1, s}, {1, s}, {1, s}, {1, s}, {1, s}, {1, s}}, false},
		{"ten bytes a second are not", 100, []read{{10, s}, {10, s}, {10, s}, {10, s}, {10, s}, {10, s}, {10, s}, {10, s}, {10, s}, {10, s}, {10, s}}, true},
		{"a window's surplus does not help the next", 100, []read{{1000, s}, {1, 10 * s}, {1, 10 * s}}, false},
		{"a short time says nothing", 100, []read{{1, s}, {1, 9 * s}}, true},
		{"without a rate nothing is too slow", 0, []read{{1, s}, {1, 60 * s}, {0, 60 * s}}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, got := pace{need: c.need}, true
			for _, r := range c.reads {
				got = got && p.note(r.n, r.took)
			}
			if got != c.want {
				t.Errorf("fast enough = %t", got)
			}
		})
	}
}

// flowing makes a body of what write sends.
func flowing(t *testing.T, cfg Config, write func(io.Writer)) *body {
	t.Helper()
	in, out := io.Pipe()
	ended := make(chan struct{})
	go func() {
		write(out)
		out.Close()
		close(ended)
	}()
	t.Cleanup(func() { <-ended })
	cfg = cfg.withDefaults()
	way := beginTransfer(t.Context(), cfg, "slow.example")
	if err := way.enter(newOrigins(cfg), "http://slow.example"); err != nil {
		t.Fatal(err)
	}
	way.visit.answered()
	b, err := newBody(in, "", -1, way)
	if err != nil {
		t.Fatal(err)
	}
	// What reads a socket is woken by its context; a pipe has to be told.
	context.AfterFunc(b.transfer.ctx, func() { in.CloseWithError(context.Canceled) })
	return b
}

func TestMinimumRate(t *testing.T) {
	every := func(d time.Duration, n, times int) func(io.Writer) {
		return func(w io.Writer) {
			for range times {
				<-time.After(d)
				if _, err := w.Write(make([]byte, n)); err != nil {
					return
				}
			}
		}
	}
	cases := []struct {
		name  string
		cfg   Config
		write func(io.Writer)
		code  media.Code
		after time.Duration
	}{
		{"a trickle is cut ten seconds after its first byte", Config{}, every(time.Second, 1, 1000), media.CodeSourceTimeout, 11 * time.Second},
		{"also between two bytes, when the idle timeout is long", Config{IdleTimeout: time.Minute}, every(9*time.Second, 1, 1000), media.CodeSourceTimeout, 19 * time.Second},
		{"a trickle that begins later is cut later", Config{}, func(w io.Writer) {
			every(time.Second, 2048, 20)(w)
			every(time.Second, 1, 1000)(w)
		}, media.CodeSourceTimeout, 31 * time.Second},
		{"a slow body that is fast enough comes whole", Config{}, every(time.Second, 1300, 50), "", 50 * time.Second},
		{"a little body may be slow for a while", Config{}, every(2*time.Second, 10, 5), "", 10 * time.Second},
		{"the rate is a setting", Config{MinRate: 10}, every(time.Second, 13, 50), "", 50 * time.Second},
		{"any rate will do when it is off", Config{MinRate: -1}, every(5*time.Second, 1, 10), "", 50 * time.Second},
		{"the idle timeout stays", Config{IdleTimeout: 3 * time.Second, MinRate: -1}, every(4*time.Second, 1, 10), media.CodeSourceTimeout, 3 * time.Second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := flowing(t, c.cfg, c.write)
				begun := time.Now()
				_, err := io.Copy(io.Discard, b)
				took := time.Since(begun)
				b.Close()
				if (err == nil) != (c.code == "") || (err != nil && codeOf(err) != c.code) || took != c.after {
					t.Errorf("after %s: %v, want %q after %s", took, err, c.code, c.after)
				}
				if c.code != "" && !Unavailable(err) {
					t.Errorf("%v is no reason to use what is held", err)
				}
			})
		})
	}
}

// What the caller does between two reads is no fault of the origin.
func TestASlowReaderIsNotASlowOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := flowing(t, Config{}, func(w io.Writer) {
			for range 5 {
				if _, err := w.Write([]byte("x")); err != nil {
					return
				}
			}
		})
		defer b.Close()
		for {
			_, err := b.Read(make([]byte, 1))
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(9 * time.Second)
		}
	})
}
