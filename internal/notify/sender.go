package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// Config is what a Sender can be told. Zero values take the default in brackets.
type Config struct {
	// Key signs what is sent (none: nothing is signed).
	Key []byte
	// AllowPrivate lets addresses of private networks be called (false).
	AllowPrivate bool
	// Timeout bounds one request (10 s).
	Timeout time.Duration
	// Every is how often the outbox is looked at (2 s).
	Every time.Duration
	// Concurrency is how many requests are made at a time (8).
	Concurrency int
	// UserAgent is how the requests call themselves (Spillway).
	UserAgent string
}

func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Every == 0 {
		c.Every = 2 * time.Second
	}
	if c.Concurrency == 0 {
		c.Concurrency = 8
	}
	if c.UserAgent == "" {
		c.UserAgent = "Spillway"
	}
	return c
}

func (c Config) validate() error {
	if c.Timeout < 0 || c.Every < 0 || c.Concurrency < 0 {
		return fmt.Errorf("webhooks: timeout %s, interval %s and concurrency %d must be above 0", c.Timeout, c.Every, c.Concurrency)
	}
	return nil
}

// Store is what a Sender needs of a jobs.Store.
type Store interface {
	jobs.WebhookStore
	Job(ctx context.Context, id jobs.ID) (jobs.Job, error)
}

// Sender sends the notices that are due.
type Sender struct {
	cfg       Config
	store     Store
	transport *http.Transport
	silence   *silence
	log       *slog.Logger

	sent, failed, givenUp atomic.Uint64
}

// New starts nothing.
func New(cfg Config, store Store, log *slog.Logger) (*Sender, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Sender{cfg: cfg, store: store, transport: newTransport(cfg), silence: &silence{hosts: map[string]*quiet{}}, log: log}, nil
}

// Stats tells what became of notices in this process.
type Stats struct {
	Sent    uint64
	Failed  uint64 // tries that will be made again
	GivenUp uint64
}

// Stats is a snapshot.
func (s *Sender) Stats() Stats {
	return Stats{Sent: s.sent.Load(), Failed: s.failed.Load(), GivenUp: s.givenUp.Load()}
}

// hold is how long taken notices are kept from other processes: as long as
// all of them may take, one round after the other, and some more.
func (s *Sender) hold() time.Duration { return rounds*s.cfg.Timeout + time.Minute }

const (
	// rounds is how many notices are taken for each that is sent at a time.
	rounds = 2
	// askTimeout bounds a question to the store.
	askTimeout = 10 * time.Second
	// whileOpen is how long a notice waits of a job that is being tried again.
	whileOpen = 10 * time.Minute
)

// Run sends until ctx ends, and then waits for the requests that it cut off.
func (s *Sender) Run(ctx context.Context) error {
	defer s.transport.CloseIdleConnections()
	failing := false
	for {
		taken, err := s.round(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			s.log.Warn("webhooks not read", "error", err)
		}
		failing = err != nil
		if taken == rounds*s.cfg.Concurrency {
			continue // there may be more
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.cfg.Every):
		}
	}
}

// round sends what is due now, some at a time.
func (s *Sender) round(ctx context.Context) (taken int, err error) {
	ask, cancel := context.WithTimeout(ctx, askTimeout)
	due, err := s.store.DueWebhooks(ask, rounds*s.cfg.Concurrency, s.hold())
	cancel()
	if err != nil {
		return 0, fmt.Errorf("take webhooks: %w", err)
	}
	var sending sync.WaitGroup
	places := make(chan struct{}, s.cfg.Concurrency)
	for _, hook := range due {
		places <- struct{}{}
		sending.Go(func() {
			defer func() { <-places }()
			s.send(ctx, hook)
		})
	}
	sending.Wait()
	return len(due), nil
}

// send makes one try. A notice of which the outcome could not be written down
// is due again when its hold is over: rather twice than never, and the
// delivery is the same.
func (s *Sender) send(ctx context.Context, hook jobs.Webhook) {
	v, err := s.try(ctx, hook)
	if err == nil && ctx.Err() == nil {
		err = s.settle(ctx, hook, v)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("webhook left for later", "job_id", hook.JobID, "host", hostOf(hook.URL), "error", err)
	}
}

// try reads the job as it is now and sends it.
func (s *Sender) try(ctx context.Context, hook jobs.Webhook) (verdict, error) {
	ask, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	job, err := s.store.Job(ask, hook.JobID)
	if errors.Is(err, jobs.ErrNotFound) {
		return verdict{givenUp: true, failure: "the job was removed"}, nil
	}
	if err != nil {
		return verdict{}, fmt.Errorf("read job: %w", err)
	}
	if !job.State.Final() {
		// Somebody wants it tried again, and its next end has a notice of its
		// own. Ending this one here could end that one.
		return verdict{failure: "the job is being tried again", again: whileOpen}, nil
	}
	body, err := json.Marshal(job.Document())
	if err != nil {
		return verdict{}, fmt.Errorf("write job: %w", err)
	}
	status, header, failure := s.reach(ctx, notice{hook.URL, "job." + string(job.State), delivery(&job), body})
	return judge(hook.Attempts+1, status, header, failure, rand.Float64()), nil //nolint:gosec // jitter is no secret
}

// reach posts a notice, unless its host is known not to answer: then that is what
// became of it.
func (s *Sender) reach(ctx context.Context, n notice) (status int, header http.Header, failure string) {
	host, began := hostOf(n.url), time.Now()
	if s.silence.skips(host, began) {
		return 0, nil, "no answer: its host has not answered others"
	}
	status, header, failure = s.post(ctx, n)
	switch {
	case ctx.Err() != nil: // our end, not the host's
	case status != 0:
		s.silence.heard(host)
	default:
		s.silence.missed(host, began, time.Now())
	}
	return status, header, failure
}

// settle writes down what became of a try.
func (s *Sender) settle(ctx context.Context, hook jobs.Webhook, v verdict) error {
	ask, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if err := s.store.WebhookDone(ask, hook, v.failure, v.again); err != nil {
		return fmt.Errorf("write down webhook: %w", err)
	}
	switch {
	case v.sent:
		s.sent.Add(1)
	case v.givenUp:
		s.givenUp.Add(1)
		s.log.Warn("webhook given up", "job_id", hook.JobID, "host", hostOf(hook.URL), "attempt", hook.Attempts+1, "reason", v.failure)
	default:
		s.failed.Add(1)
		s.log.Info("webhook failed", "job_id", hook.JobID, "host", hostOf(hook.URL), "attempt", hook.Attempts+1, "reason", v.failure, "again_s", v.again.Seconds())
	}
	return nil
}
