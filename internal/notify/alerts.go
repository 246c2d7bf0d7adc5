package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// Channel is where alerts go, with the key that its file holds.
type Channel struct {
	fleet.Channel
	Key []byte
}

const (
	// alertTries are made of one notice in one tick; the next tick tries again.
	alertTries = 3
	// alertTimeout bounds one of them.
	alertTimeout = 5 * time.Second
	// alertPause is the wait before the second; the third waits twice as long.
	alertPause = 500 * time.Millisecond
	// mostPending bounds how many notices are remembered as half delivered.
	mostPending = 1000
)

// Alerts tells people of the scheduler's notices through the channels of its
// file. Addresses are the operator's own, so that private networks are allowed.
type Alerts struct {
	channels  func() []Channel
	transport http.RoundTripper
	log       *slog.Logger
	pause     time.Duration

	mu      sync.Mutex
	pending map[string]*halfTold // guarded by mu; by Notice.Key
	// silent is the tick in which a channel did not answer, so that a channel
	// which hangs costs a tick its time once, not once a notice.
	silent map[string]time.Time // guarded by mu
}

// halfTold is a notice that some channel has not taken yet.
type halfTold struct {
	delivery string
	taken    map[string]bool // by channel
}

// NewAlerts asks for the channels at each notice, so that a reload counts at
// once. It starts nothing. With no channel, notices go to the log.
func NewAlerts(channels func() []Channel, log *slog.Logger) *Alerts {
	return &Alerts{
		channels: channels, log: log, pause: alertPause, pending: map[string]*halfTold{}, silent: map[string]time.Time{},
		transport: newTransport(Config{AllowPrivate: true, Timeout: alertTimeout, Concurrency: 4}),
	}
}

// Notify tells all channels at the same time. Its error means that one of them
// could not be reached for now; when the notice comes again, only those get it
// that have not taken it.
func (a *Alerts) Notify(ctx context.Context, n fleet.Notice) error {
	told, missing := a.begin(n), make(chan error)
	channels := a.channels()
	if len(channels) == 0 {
		channels = []Channel{{Channel: fleet.Channel{Kind: "log"}}}
	}
	sent := 0
	for i, c := range channels {
		if name := c.name(i); c.takes(n) && !a.has(told, name) {
			sent++
			go func() { missing <- a.tell(ctx, c, name, n, told) }()
		}
	}
	var failed []error
	for range sent {
		failed = append(failed, <-missing)
	}
	err := errors.Join(failed...)
	if err == nil {
		a.end(n)
	}
	return err
}

// name tells channels apart over a reload, without showing the address.
func (c Channel) name(i int) string {
	sum := sha256.Sum256([]byte(c.URL))
	return strconv.Itoa(i) + " " + c.Kind + " " + hex.EncodeToString(sum[:8])
}

func (c Channel) takes(n fleet.Notice) bool {
	return len(c.Levels) == 0 || slices.Contains(c.Levels, n.Level)
}

// begin finds the notice if it has been tried before.
func (a *Alerts) begin(n fleet.Notice) *halfTold {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %t", n.Key, n.Since.UnixNano(), n.Resolved))
	want := hex.EncodeToString(sum[:8])
	told := a.pending[n.Key]
	if told == nil || told.delivery[:len(want)] != want {
		told = &halfTold{delivery: want + "-" + strconv.FormatInt(n.At.Unix(), 10), taken: map[string]bool{}}
		if len(a.pending) >= mostPending {
			clear(a.pending) // rather twice than never
		}
		a.pending[n.Key] = told
	}
	return told
}

func (a *Alerts) end(n fleet.Notice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pending, n.Key)
}

func (a *Alerts) has(told *halfTold, name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return told.taken[name]
}

// tell hands the notice to one channel. What a channel refuses for good is told
// in the log and not tried again.
func (a *Alerts) tell(ctx context.Context, c Channel, name string, n fleet.Notice, told *halfTold) error {
	if a.isSilent(name, n.At) {
		return fmt.Errorf("tell %s at %s: it did not answer a moment ago", c.Kind, hostOf(c.URL))
	}
	var err error
	if c.Kind == "log" {
		a.write(ctx, n)
	} else {
		err = a.post(ctx, c, n, told.delivery)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.silent[name] = n.At
		return err
	}
	delete(a.silent, name)
	told.taken[name] = true
	return nil
}

func (a *Alerts) isSilent(name string, tick time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	since, failed := a.silent[name]
	return failed && since.Equal(tick)
}

// write is the channel "log".
func (a *Alerts) write(ctx context.Context, n fleet.Notice) {
	level := slog.LevelInfo
	switch {
	case n.Resolved:
	case n.Level == fleet.Warning:
		level = slog.LevelWarn
	case n.Level == fleet.Critical:
		level = slog.LevelError
	}
	attrs := []slog.Attr{slog.String("alert", n.Name), slog.String("alert_level", string(n.Level)), slog.String("reason", n.Sentence), slog.Bool("resolved", n.Resolved)}
	for _, one := range [][2]string{{"queue", n.Queue}, {"worker_id", n.WorkerID}, {"decision_id", n.Decision}} {
		if one[1] != "" {
			attrs = append(attrs, slog.String(one[0], one[1]))
		}
	}
	a.log.LogAttrs(ctx, level, "alert", attrs...)
}
