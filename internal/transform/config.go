package transform

import (
	"errors"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// Config bounds the service. The zero value is not usable; start from
// DefaultConfig.
type Config struct {
	Limits media.Limits
	// Jobs is how many transforms use the CPU at once: one a core.
	Jobs int
	// Queue is how many may wait for a permit before new ones are refused
	// (64 a job).
	Queue int
	// QueueWait is the longest wait for a permit (10 s).
	QueueWait time.Duration
	// Fetches is how many origins are read at once (256), at least 2.
	Fetches int
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
	// Version is mixed into every tag: a new engine or release makes new
	// results, never stale ones.
	Version string
}

// DefaultConfig suits a machine of the given cores and memory.
func DefaultConfig(cores int, memory int64) Config {
	jobs := max(cores, 1)
	return Config{
		Limits: media.DefaultLimits(), Jobs: jobs, Queue: 64 * jobs,
		QueueWait: 10 * time.Second, Fetches: 256, MemoryBudget: memory * 2 / 5,
		CacheMemory: 64 << 20, Hold: 32 << 10, Stall: 30 * time.Second,
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
	check(c.Fetches >= 2 && c.Fetches <= 1<<20, "fetches: %d is not within 2, as a watermark takes one beside its picture, to 1048576", c.Fetches)
	check(c.MemoryBudget >= 16<<20, "memory-budget: %d is below the least useful 16777216 bytes", c.MemoryBudget)
	check(c.CacheMemory >= 0, "cache-memory: %d is negative; 0 turns the cache off", c.CacheMemory)
	check(c.Hold >= 1, "hold: %d is below 1 byte", c.Hold)
	check(c.Stall > 0, "stall: %s is not above 0s", c.Stall)
	return errors.Join(errs...)
}
