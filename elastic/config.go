package elastic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// Handler does one job. Its context ends when the job's caller gives up, at the
// job's deadline, or when shutdown has run out of patience; never because the
// pool shrinks. A panic becomes a *PanicError for the caller.
type Handler[T any] func(ctx context.Context, job T) error

// Worker does jobs one after another with state of its own: a connection, a
// scratch buffer, a decoder. Only one goroutine ever uses it.
type Worker[T any] interface {
	// Do is a Handler. An error that wraps ErrReplaceWorker also ends the
	// worker, and so does a panic: its state can no longer be trusted.
	Do(ctx context.Context, job T) error
	// Close releases what the factory made. It is called once, after the
	// last Do, whatever ended the worker.
	Close()
}

// Factory makes the worker numbered idx, counted from 0 in order of creation;
// numbers are never used again. It runs on the worker's own goroutine, so it
// may take its time. ctx lives as long as the worker and ends, with a cause,
// when a retirement has outlasted RetireGrace or at the end of a shutdown:
// it is for set-up and for what the worker does between jobs.
type Factory[T any] func(ctx context.Context, idx int64) (Worker[T], error)

// Signal is what a pool takes for need.
type Signal int

const (
	// WaitTime grows when even the luckiest job of a whole check interval
	// waited longer than TargetWait (the minimum sojourn of CoDel, RFC 8289):
	// a short burst that the pool is working off does not count, a standing
	// queue does. It shrinks when workers have been idle for a while.
	WaitTime Signal = iota
	// SmoothedBacklog grows when arrival rate times service time, smoothed,
	// and the smoothed backlog ask for more workers than there are.
	SmoothedBacklog
	// QueueLength compares the number of queued jobs with two thresholds, one
	// worker at a time, ScaleCooldown between any two actions.
	QueueLength
)

// String is the signal's name in a configuration file.
func (s Signal) String() string {
	switch s {
	case WaitTime:
		return "wait-time"
	case SmoothedBacklog:
		return "smoothed-backlog"
	case QueueLength:
		return "queue-length"
	}
	return fmt.Sprintf("Signal(%d)", int(s))
}

// ParseSignal is the reverse of String.
func ParseSignal(name string) (Signal, error) {
	for _, s := range []Signal{WaitTime, SmoothedBacklog, QueueLength} {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("signal %q is not one of wait-time, smoothed-backlog, queue-length", name)
}

// Config is everything a pool can be told. Only Handler or Factory is needed.
type Config[T any] struct {
	// Name appears in reasons and in the gate's Stats. Default "pool".
	Name string

	// Handler does the jobs of a pool whose workers have no state.
	Handler Handler[T]
	// Factory makes workers that have. Exactly one of the two is set.
	Factory Factory[T]

	// MinWorkers is how many always live. Default 1.
	MinWorkers int
	// MaxWorkers is how many exist at most, those on their way out included.
	// Default twice the CPU quota, but at least MinWorkers.
	MaxWorkers int

	// QueueSize is how many jobs wait at most. Default 1024.
	QueueSize int
	// Classes is the number of priorities, 1 to 16; class 0 goes first.
	// Default 1.
	Classes int
	// Ageing is the head start a class has over the next: a job of class 1
	// goes before every job of class 0 that came this much later, so that no
	// class starves. Default 1 s.
	Ageing time.Duration

	// Signal chooses what need is measured by. Default WaitTime.
	Signal Signal
	// TargetWait is how long jobs may wait before WaitTime and
	// SmoothedBacklog grow the pool. Default 50 ms.
	TargetWait time.Duration
	// ScaleUpThreshold and ScaleDownThreshold are for QueueLength: more
	// queued jobs than the first add a worker, fewer than the second retire
	// one. Defaults 4 and 1.
	ScaleUpThreshold, ScaleDownThreshold int

	// CheckInterval is how often the signal is looked at. Default 50 ms, with
	// QueueLength 5 s.
	CheckInterval time.Duration
	// ScaleCooldown is, with QueueLength, the least time between any two
	// actions (default 30 s). The other signals are steadier: for them it is
	// the least time between two that shrink, and between an action and one
	// the other way (default 2 s), except that jobs which wait for more than
	// four times TargetWait are never made to wait for it. The floor is always
	// refilled at once. Negative means none.
	ScaleCooldown time.Duration
	// KeepIdle is for how long WaitTime and SmoothedBacklog keep workers after
	// they were last needed; then all that are spare go in one step. Idle
	// workers cost little, and growing again just after costs somebody's wait.
	// Default 10 s.
	KeepIdle time.Duration
	// RetireGrace is how long a retiring worker has before its own context
	// (never its job's) is cancelled as a nudge. Default 2 s.
	RetireGrace time.Duration
	// DrainTimeout is how long Run goes on working off the queue after its
	// context has ended. Default 10 s; negative means not at all.
	DrainTimeout time.Duration

	// Saturated, when set, is asked before the pool grows: true stops it, and
	// the text says why ("libvips has 4 of 4 threads busy"). It must be quick.
	Saturated func() (bool, string)
	// Gate, when set, rations CPU and memory among all pools that share it;
	// a pool does not grow while its gate is the bottleneck.
	Gate *Gate
	// GateShare is this pool's weight at the gate. Default 1.
	GateShare int
	// CPUBound says that a whole job is CPU work, so that the pool enters the
	// gate for it. Without it the handler marks its CPU stage with EnterCPU.
	CPUBound bool
}

const maxClasses = 16

// faults collects what is wrong with a configuration.
type faults []error

func (f *faults) note(wrong bool, format string, args ...any) {
	if wrong {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

// Validate joins every fault it finds. Zero values stand for defaults.
func (c Config[T]) Validate() error {
	c = c.withDefaults()
	var f faults
	f.note((c.Handler == nil) == (c.Factory == nil), "Handler, Factory: exactly one must be set")
	f.note(c.MinWorkers < 1, "MinWorkers is %d; it must be at least 1", c.MinWorkers)
	f.note(c.MaxWorkers < c.MinWorkers, "MaxWorkers is %d; it must be at least MinWorkers (%d)", c.MaxWorkers, c.MinWorkers)
	f.note(c.QueueSize < 1 || c.QueueSize > math.MaxInt32, "QueueSize is %d; it must be 1 to %d", c.QueueSize, math.MaxInt32)
	f.note(c.Classes < 1 || c.Classes > maxClasses, "Classes is %d; it must be 1 to %d", c.Classes, maxClasses)
	f.note(c.Ageing < 0, "Ageing is %s; it must not be negative", c.Ageing)
	f.note(c.Signal < WaitTime || c.Signal > QueueLength, "Signal is %s, which does not exist", c.Signal)
	f.note(c.TargetWait < 0, "TargetWait is %s; it must not be negative", c.TargetWait)
	f.note(c.ScaleUpThreshold < 0, "ScaleUpThreshold is %d; it must not be negative", c.ScaleUpThreshold)
	f.note(c.ScaleDownThreshold < 0, "ScaleDownThreshold is %d; it must not be negative", c.ScaleDownThreshold)
	f.note(c.ScaleDownThreshold > c.ScaleUpThreshold+1,
		"ScaleDownThreshold is %d; above ScaleUpThreshold (%d) the same queue would grow and shrink the pool",
		c.ScaleDownThreshold, c.ScaleUpThreshold)
	f.note(c.CheckInterval < time.Millisecond, "CheckInterval is %s; it must be at least 1ms", c.CheckInterval)
	f.note(c.KeepIdle < 0, "KeepIdle is %s; it must not be negative", c.KeepIdle)
	f.note(c.RetireGrace < 0, "RetireGrace is %s; it must not be negative", c.RetireGrace)
	f.note(c.GateShare < 1, "GateShare is %d; it must be at least 1", c.GateShare)
	return errors.Join(f...)
}

// or returns the default where nothing was set.
func or[V comparable](value, standard V) V {
	var zero V
	if value == zero {
		return standard
	}
	return value
}

func (c Config[T]) withDefaults() Config[T] {
	c.Name = or(c.Name, "pool")
	c.MinWorkers = or(c.MinWorkers, 1)
	if c.MaxWorkers == 0 {
		quota, _ := CPUQuota()
		c.MaxWorkers = max(c.MinWorkers, 2*int(math.Ceil(quota)))
	}
	c.QueueSize = or(c.QueueSize, 1024)
	c.Classes = or(c.Classes, 1)
	c.Ageing = or(c.Ageing, time.Second)
	c.TargetWait = or(c.TargetWait, 50*time.Millisecond)
	c.ScaleUpThreshold = or(c.ScaleUpThreshold, 4)
	c.ScaleDownThreshold = or(c.ScaleDownThreshold, 1)
	interval, cooldown := 50*time.Millisecond, 2*time.Second
	if c.Signal == QueueLength {
		interval, cooldown = 5*time.Second, 30*time.Second
	}
	c.CheckInterval = or(c.CheckInterval, interval)
	c.ScaleCooldown = max(0, or(c.ScaleCooldown, cooldown))
	c.KeepIdle = or(c.KeepIdle, 10*time.Second)
	c.RetireGrace = or(c.RetireGrace, 2*time.Second)
	c.DrainTimeout = max(0, or(c.DrainTimeout, 10*time.Second))
	c.GateShare = or(c.GateShare, 1)
	return c
}
