package transform

import (
	"context"
	"io"

	"github.com/spillway-media/spillway/internal/media"
)

// Engine turns source bytes into encoded outputs. internal/vips is the one in
// this process; a pool of isolated worker processes can stand behind the same
// interface, because nothing but bytes, a Plan and an error crosses it.
//
// Every call runs to its end or until ctx is done, on the caller's goroutine,
// and frees all it allocated before it returns. Errors are *media.Error.
type Engine interface {
	// Abilities tells what the engine reads and writes. It is cheap, but for
	// the first call, which may try it out.
	Abilities() media.Abilities
	// Probe reads the header only. src must not change during the call.
	Probe(ctx context.Context, src []byte, limits media.Limits) (media.Info, error)
	// Run carries out a plan. begin is called once for each output, in the
	// order the engine finishes them, with the output's index and true size,
	// before its first byte; the writer it returns gets the encoded bytes as
	// they are made. A write error stops the run. overlay holds the encoded
	// watermark, nil when the plan has none.
	Run(ctx context.Context, src, overlay []byte, plan *media.Plan, begin Begin) error
	// Describe decodes a small version for Summary: dominant colour and
	// 32-pixel thumbnail for a blurhash.
	Describe(ctx context.Context, src []byte, info media.Info) (Summary, error)
}

// Begin hands the engine the writer of one output. It must not block.
type Begin func(index int, made Made) (io.Writer, error)

// Made is what is known of an output when its first byte comes.
type Made struct {
	Width, Height int
	Frames        int
	Quality       int // the quality used, which max_bytes may have lowered
}

// Summary is what /info tells beyond the header.
type Summary struct {
	// Dominant is the most frequent colour, transparency ignored.
	Dominant media.Colour
	// Thumb is RGBA, Width x Height x 4 bytes, at most 32 pixels a side.
	Thumb         []byte
	Width, Height int
}
