package vips

// #cgo pkg-config: vips libwebp libwebpmux gmodule-no-export-2.0
// #cgo CFLAGS: -O2 -Wall -Wextra -Wno-unused-parameter
// #cgo LDFLAGS: -lm
// #include "bridge.h"
import "C"

import (
	"errors"
	"sync"

	"github.com/spillway-media/spillway/internal/media"
)

// libvips is one a process and cannot be stopped and started again, so the
// once that guards it is too.
var (
	startOnce sync.Once //nolint:gochecknoglobals // libvips is one a process
	errStart  error     //nolint:gochecknoglobals // what it said then
)

// Engine is the pixel engine. It is safe for concurrent use; how many runs
// go on at a time is its caller's business.
type Engine struct {
	abilities func() media.Abilities // tried when first asked
	helpers   *helpers
}

// New starts libvips, unless the process has done so.
func New(cfg Config) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	startOnce.Do(func() { errStart = start(cfg) })
	if errStart != nil {
		return nil, errStart
	}
	if cfg.AllowPDF {
		C.spw_allow_pdf()
	}
	engine := &Engine{helpers: newHelpers(cfg)}
	engine.abilities = sync.OnceValue(func() media.Abilities { return engine.tryAll(cfg) })
	return engine, nil
}

func start(cfg Config) error {
	if C.spw_start(C.int(max(cfg.ConcurrencyPerJob, 1))) != 0 {
		return errors.New("start libvips: it refused to initialise")
	}
	return nil
}

// Version is that of the libvips in use, which may be newer than the one the
// binary was compiled for.
func Version() string { return C.GoString(C.spw_version()) }

// ThreadsAreSafe tells whether idle threads of libvips stay, or leave without
// the fault that versions before 8.15.5 have: one that is given work in that
// moment brings the process down. It is known once libvips has worked.
func ThreadsAreSafe() bool { return C.spw_threads_are_safe() != 0 }

// Abilities tells what the engine really reads and writes. The first call finds
// out, in some 25 ms of CPU time; others wait for it.
func (e *Engine) Abilities() media.Abilities { return e.abilities() }

// Stats tells what libvips holds at this moment.
func (e *Engine) Stats() Stats {
	var s C.SpwStats
	C.spw_stats(&s)
	helpers, started := e.helpers.stats()
	return Stats{
		MemoryBytes: int64(s.memory), Allocations: int64(s.allocations),
		Files: int64(s.files), Warnings: int64(s.warnings),
		Helpers: helpers, Started: started,
	}
}

// Trim hands memory that is free inside the C library back to the system. It
// takes milliseconds and is meant for idle moments.
func (e *Engine) Trim() { C.spw_trim_memory() }

// Close ends the helper processes that wait for work. Runs that still go on
// end theirs themselves.
func (e *Engine) Close() { e.helpers.close() }
