package vips

import (
	"errors"
	"fmt"

	"github.com/spillway-media/spillway/internal/transform"
)

var _ transform.Engine = (*Engine)(nil)

// ErrUnavailable is what New gives in a binary that was built without cgo.
var ErrUnavailable = errors.New("this binary was built without libvips: build it with CGO_ENABLED=1")

// Config holds what an engine is made with. libvips itself is one a process:
// the threads of the first New are those of all.
type Config struct {
	// ConcurrencyPerJob is the threads one run may use, 1 to 64; 0 means 1.
	// A busy server wants 1: more only helps when cores are idle.
	ConcurrencyPerJob int
	// AllowPDF lets the PDF loader read. It is off by default because its
	// parser is the largest of all and PDFs come from anywhere.
	AllowPDF bool
	// Helper is the command of a process that calls Work: what encoders do in
	// one long step is done there, where it can be ended. Without it they run
	// in this process, to their end.
	Helper []string
	// HelperEnv is all that a helper has in its environment. The variables
	// that say where libraries lie belong there.
	HelperEnv []string
}

// Validate joins every fault, each naming its key and range.
func (c Config) Validate() error {
	if c.ConcurrencyPerJob < 0 || c.ConcurrencyPerJob > 64 {
		return fmt.Errorf("vips-concurrency: %d is not within 0 to 64", c.ConcurrencyPerJob)
	}
	return nil
}

// Stats is what libvips holds at this moment, over all runs.
type Stats struct {
	MemoryBytes int64 // pixels and buffers
	Allocations int64
	Files       int64
	Warnings    int64 // complaints of codecs since the start
	Helpers     int   // helper processes there are, idle ones included
	Started     int64 // helper processes since the start
}
