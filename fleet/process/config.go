package process

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Name of the provider, and of its one type of machine.
const Name = "process"

// Config is what a Provider can be told. Dir, Program and Clock are needed.
type Config struct {
	// Dir holds a file for each machine, and its log. It is made when it is not
	// there, for the user's eyes only.
	Dir string
	// Program is started for a worker, with Args: "spillway" and "work". Both can
	// be seen by every user of the computer, Env cannot.
	Program string
	Args    []string
	// Env is a worker's environment. Who it is, and what it takes, is added to
	// it: SPILLWAY_WORKER_ID, SPILLWAY_QUEUES and so on.
	Env []string
	// Zone is where the computer stands; "" says nothing.
	Zone string
	// Slots is how many jobs a worker takes when a launch does not say. Default 0:
	// what the program itself does.
	Slots int
	// Grace is how long a worker may go on after SIGTERM. Default 10 s.
	Grace time.Duration
	// Remember is how long machines that ended are listed. Default 1 h.
	Remember time.Duration
	Clock    func() time.Time
}

// Validate joins every fault it finds. Zero values stand for defaults.
func (c Config) Validate() error {
	var errs []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	fault(c.Dir == "", "Dir is empty; it names the folder of machines")
	fault(!filepath.IsAbs(c.Program), "Program is %q; it must be the whole path of a program", c.Program)
	fault(c.Clock == nil, "Clock is missing")
	fault(c.Slots < 0, "Slots is %d; it must be at least 1, or 0 for what the program does", c.Slots)
	fault(c.Grace < 0, "Grace is %s; it must be above 0, or 0 for the default", c.Grace)
	fault(c.Remember < 0, "Remember is %s; it must be above 0, or 0 for the default", c.Remember)
	fault(slices.ContainsFunc(c.Env, func(v string) bool { return !strings.Contains(v, "=") }), "Env has an entry without =")
	return errors.Join(errs...)
}
