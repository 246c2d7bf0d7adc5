//go:build !cgo

package vips

import (
	"context"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// Engine cannot be made in this build: New always fails. The methods are here
// so that everything above compiles.
type Engine struct{}

// New gives ErrUnavailable.
func New(Config) (*Engine, error) { return nil, ErrUnavailable }

// Version is empty without libvips.
func Version() string { return "" }

// ThreadsAreSafe where there are none.
func ThreadsAreSafe() bool { return true }

// Abilities has none.
func (*Engine) Abilities() media.Abilities { return media.Abilities{} }

// Stats is zero.
func (*Engine) Stats() Stats { return Stats{} }

// Trim has nothing to give back.
func (*Engine) Trim() {}

// Close has nothing to end.
func (*Engine) Close() {}

// Work always fails.
func Work() error { return ErrUnavailable }

// Probe always fails.
func (*Engine) Probe(context.Context, []byte, media.Limits) (media.Info, error) {
	return media.Info{}, unavailable()
}

// Run always fails.
func (*Engine) Run(context.Context, []byte, []byte, *media.Plan, transform.Begin) error {
	return unavailable()
}

// Describe always fails.
func (*Engine) Describe(context.Context, []byte, media.Info) (transform.Summary, error) {
	return transform.Summary{}, unavailable()
}

func unavailable() error {
	return media.Wrap(media.CodeUnsupported, ErrUnavailable, "This server cannot read pictures.")
}
