package transform

import (
	"errors"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/elastic"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/originals"
)

// Config bounds the service. The zero value is not usable; start from
// DefaultConfig.
type Config struct {
	Limits media.Limits
	// Jobs is how many transforms use the CPU at once: one a core.
	Jobs int
	// Queue is how many may wait besides those that Jobs lets run before new
	// ones are refused (64 a job).
	Queue int
	// QueueWait is the longest wait for a turn (10 s); with 0 nobody waits.
	QueueWait time.Duration
	// Scale says how the workers grow and shrink with need.
	Scale Scale
	// OverloadWait is the longest wait that is accepted once the line has been
	// longer than that for OverloadAfter (800 ms, 3 s): a burst is worked off,
	// a standing line would only make everybody late.
	OverloadWait, OverloadAfter time.Duration
	// Background is how many of Jobs may be work in the background, so that
	// the rest is there at once for whoever comes (0: all of them), and
	// BackgroundWait its longest wait for a turn (0: 5 m).
	Background     int
	BackgroundWait time.Duration
	// ReduceAfter is the wait from which encoders take less effort where a
	// request leaves that open; 0 never (0).
	ReduceAfter time.Duration
	// Originals says how sources are shared and kept. Its SourceBytes is that
	// of Limits.
	Originals originals.Config
	// MemoryBudget bounds the decoded bytes of all running jobs together.
	MemoryBudget int64
	// CacheMemory bounds the in-memory result cache; 0 turns it off.
	CacheMemory int64
	// Hold is how many encoded bytes must be there before an answer begins,
	// so that most late decode errors still become a clean refusal (32 KiB).
	Hold int64
	// Stall is how long waiters may see no job finish before the service
	// calls itself not ready (30 s).
	Stall time.Duration
	// Unready is how long the line may have stood before the service calls
	// itself not ready (10 s).
	Unready time.Duration
	// Version is mixed into every tag: a new engine or release makes new
	// results, never stale ones.
	Version string
}

// Scale is how many workers there are. Zero values stand for the defaults.
type Scale struct {
	// MinWorkers always live (1); MaxWorkers exist at most (Jobs and one more,
	// which has the next picture in hand when a slot gets free).
	MinWorkers, MaxWorkers int
	// Signal is what is taken for need, TargetWait how long pictures may wait
	// before there are more workers (wait-time, 5 ms: with as many as a small
	// picture takes, two clients in turn would share one worker for ever).
	Signal     elastic.Signal
	TargetWait time.Duration
	// Check is the time between two looks, Cooldown that before a change the
	// other way (as the signal needs: 50 ms and 2 s, 5 s and 30 s by length).
	Check, Cooldown time.Duration
	// KeepIdle is for how long workers that are not needed stay (10 s).
	KeepIdle time.Duration
	// RetireGrace is how long a worker may take to leave, and cancelled work
	// to end when the service stops (2 s). All that can be stopped ends within
	// moments; a decoder that cannot must not keep the process alive.
	RetireGrace time.Duration
}

// workers are the bounds that the zero values stand for.
func (c Config) workers() (least, most int) {
	least, most = max(c.Scale.MinWorkers, 1), c.Scale.MaxWorkers
	if most == 0 {
		most = max(c.Jobs+1, least)
	}
	return least, most
}

// inBackground is the most workers for work in the background. Where it may
// have all slots, it has as many as other work.
func (c Config) inBackground(most int) int {
	if c.Background == 0 || c.Background >= c.Jobs {
		return most
	}
	return c.Background
}

// DefaultConfig suits a machine of the given cores and memory.
func DefaultConfig(cores int, memory int64) Config {
	jobs := max(cores, 1)
	return Config{
		Limits: media.DefaultLimits(), Jobs: jobs, Queue: 64 * jobs,
		QueueWait: 10 * time.Second, OverloadWait: 800 * time.Millisecond, OverloadAfter: 3 * time.Second,
		Originals: originals.Config{Memory: 32 << 20, IfError: time.Hour, Kept: 1 << 14}, MemoryBudget: memory * 2 / 5,
		CacheMemory: 64 << 20, Hold: 32 << 10, Stall: 30 * time.Second, Unready: 10 * time.Second,
	}
}

// Validate joins every fault, each naming its key and accepted range.
func (c Config) Validate() error {
	errs := []error{c.Limits.Validate()}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Jobs >= 1 && c.Jobs <= 1024, "jobs: %d is not within 1 to 1024", c.Jobs)
	check(c.Queue >= 0 && c.Queue <= 1<<20, "queue: %d is not within 0 to 1048576", c.Queue)
	check(c.QueueWait >= 0 && c.QueueWait <= time.Hour, "queue-wait: %s is not within 0s to 1h", c.QueueWait)
	check(c.OverloadWait > 0 && c.OverloadWait <= time.Hour, "overload-wait: %s is not above 0s, up to 1h", c.OverloadWait)
	check(c.OverloadAfter >= 0 && c.OverloadAfter <= time.Hour, "overload-after: %s is not within 0s to 1h", c.OverloadAfter)
	check(c.Background >= 0 && c.Background <= 1024, "background-jobs: %d is not within 0 to 1024", c.Background)
	check(c.BackgroundWait >= 0 && c.BackgroundWait <= time.Hour, "background-wait: %s is not within 0s to 1h", c.BackgroundWait)
	check(c.ReduceAfter >= 0 && c.ReduceAfter <= time.Hour, "reduce-effort: %s is not within 0s to 1h", c.ReduceAfter)
	check(c.Unready > 0, "unready-after: %s is not above 0s", c.Unready)
	check(c.MemoryBudget >= 16<<20, "memory-budget: %d is below the least useful 16777216 bytes", c.MemoryBudget)
	check(c.CacheMemory >= 0, "cache-memory: %d is negative; 0 turns the cache off", c.CacheMemory)
	check(c.Hold >= 1, "hold: %d is below 1 byte", c.Hold)
	check(c.Stall > 0, "stall: %s is not above 0s", c.Stall)
	errs = append(errs, c.Scale.validate())
	if least, most := c.workers(); most < least {
		check(false, "workers-max: %d is below workers-min, which is %d", most, least)
	}
	return errors.Join(errs...)
}

func (s Scale) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(s.MinWorkers >= 0 && s.MinWorkers <= 4096, "workers-min: %d is not within 1 to 4096", s.MinWorkers)
	check(s.MaxWorkers >= 0 && s.MaxWorkers <= 4096, "workers-max: %d is not within 0 to 4096", s.MaxWorkers)
	check(s.Signal >= elastic.WaitTime && s.Signal <= elastic.QueueLength, "scale-signal: %s does not exist", s.Signal)
	check(s.TargetWait >= 0 && s.TargetWait <= time.Minute, "scale-wait: %s is not within 0s to 1m", s.TargetWait)
	check(s.Check == 0 || s.Check >= time.Millisecond && s.Check <= time.Minute, "scale-check: %s is not 0s, nor within 1ms to 1m", s.Check)
	check(s.Cooldown >= 0 && s.Cooldown <= time.Hour, "scale-cooldown: %s is not within 0s to 1h", s.Cooldown)
	check(s.KeepIdle >= 0 && s.KeepIdle <= time.Hour, "keep-idle: %s is not within 0s to 1h", s.KeepIdle)
	check(s.RetireGrace >= 0 && s.RetireGrace <= time.Hour, "retire-grace: %s is not within 0s to 1h", s.RetireGrace)
	return errors.Join(errs...)
}
