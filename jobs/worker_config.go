package jobs

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

// WorkerConfig is what a Worker can be told. Row.Queues and Handlers are needed.
type WorkerConfig struct {
	// Row says who the worker is. Defaults: Hostname that of the machine, ID
	// the hostname and a random end, Provider "vps", Market VPS. Slots and
	// Status are filled in.
	Row      WorkerRow
	Handlers map[string]Handler // by type
	// Slots is how many jobs are held at once, those that only wait for others
	// included. Default twice the gate's slots, or the CPU quota, but 2 at least.
	Slots int
	// Reserve keeps slots for queues: so many jobs of a queue find room whatever
	// else is held. Jobs of others share the rest, which has one slot at least
	// unless every queue has its own. Default none.
	Reserve map[string]int
	// Lease is for how long a job is granted. It is renewed each quarter of
	// that; at least 1 s. Default 60 s.
	Lease time.Duration
	// Poll is how often is asked for work when the bell is silent. Default 2 s.
	Poll time.Duration
	// Signals is how often cancels and drains are asked for. Default 1 s.
	Signals time.Duration
	// DrainTimeout is how long running jobs may go on when the context of Run
	// has ended. Default 5 min; negative means not at all.
	DrainTimeout time.Duration
	// Grace is how long a handler may take to return when its context has
	// ended. Then it is given up. Default 10 s.
	Grace time.Duration
	// Metrics is how often the machine's use is recorded. Default 15 s.
	Metrics time.Duration
	// Gate rations cores and memory among CPU jobs. nil: nothing does.
	Gate *elastic.Gate
	// Machine reads the use of CPU and memory; JobsRunning is filled in. nil:
	// only that is recorded.
	Machine func() WorkerMetric
	// Clock is a monotonic clock, for tests. Default time.Now.
	Clock func() time.Time
}

// Validate joins every fault it finds. Zero values stand for defaults.
func (c *WorkerConfig) Validate() error {
	var errs []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	fault(len(c.Row.Queues) == 0, "Row.Queues is empty; a worker serves one queue at least")
	for _, queue := range c.Row.Queues {
		fault(!QueueName(queue), "Row.Queues has %.60q, which is no name of a queue", queue)
	}
	fault(len(c.Handlers) == 0, "Handlers is empty; a worker knows one type at least")
	for name, handler := range c.Handlers {
		fault(handler == nil, "Handlers has none for %.60q", name)
	}
	fault(c.Slots < 0, "Slots is %d; it must be at least 1, or 0 for the default", c.Slots)
	if err := reserve(c.Reserve).validate(c.Row.Queues, c.Slots); err != nil {
		errs = append(errs, err)
	}
	fault(c.Lease != 0 && c.Lease < time.Second, "Lease is %s; it must be at least 1s, or 0 for the default", c.Lease)
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"Poll", c.Poll}, {"Signals", c.Signals}, {"Grace", c.Grace}, {"Metrics", c.Metrics}} {
		fault(d.value < 0, "%s is %s; it must be above 0, or 0 for the default", d.name, d.value)
	}
	return errors.Join(errs...)
}

func (c WorkerConfig) withDefaults() (WorkerConfig, error) {
	c.Lease = or(c.Lease, time.Minute)
	c.Poll = or(c.Poll, 2*time.Second)
	c.Signals = or(c.Signals, time.Second)
	c.DrainTimeout = or(c.DrainTimeout, 5*time.Minute)
	c.Grace = or(c.Grace, 10*time.Second)
	c.Metrics = or(c.Metrics, 15*time.Second)
	c.Slots = or(c.Slots, c.defaultSlots())
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Machine == nil {
		c.Machine = func() WorkerMetric { return WorkerMetric{} }
	}
	if err := reserve(c.Reserve).validate(c.Row.Queues, c.Slots); err != nil {
		return c, err // the default of Slots is known only now
	}
	return c, c.Row.complete(c.Slots)
}

func (c *WorkerConfig) defaultSlots() int {
	if c.Gate != nil {
		return max(2, 2*c.Gate.Stats().Slots)
	}
	quota, _ := elastic.CPUQuota()
	return max(2, int(quota))
}

func or[V comparable](value, standard V) V {
	var zero V
	if value == zero {
		return standard
	}
	return value
}

// complete fills in what the machine knows of itself.
func (r *WorkerRow) complete(slots int) error {
	if r.Hostname == "" {
		name, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("read hostname: %w", err)
		}
		r.Hostname = name
	}
	if r.ID == "" {
		random := make([]byte, 4)
		if _, err := rand.Read(random); err != nil {
			return fmt.Errorf("make worker id: %w", err)
		}
		r.ID = r.Hostname + "-" + hex.EncodeToString(random)
	}
	r.Provider = or(r.Provider, "vps")
	r.Market = or(r.Market, VPS)
	r.Slots = slots
	r.Status = WorkerActive
	return nil
}
