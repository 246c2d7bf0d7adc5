package app

import (
	"fmt"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/vips"
)

// CodecFacts is what the linked pixel engine can do.
type CodecFacts struct {
	Version   string
	Abilities media.Abilities
	// ThreadsAreSafe is false where a fault of libvips can end the process.
	ThreadsAreSafe bool
}

// Codecs starts the pixel engine and asks it.
func Codecs() (CodecFacts, error) {
	engine, err := vips.New(vips.Config{AllowPDF: true})
	if err != nil {
		return CodecFacts{}, fmt.Errorf("start codecs: %w", err)
	}
	abilities := engine.Abilities() // which makes it work
	return CodecFacts{vips.Version(), abilities, vips.ThreadsAreSafe()}, nil
}

// CodecVersion is the version of the linked pixel engine, empty without one.
func CodecVersion() string { return vips.Version() }
