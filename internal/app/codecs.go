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
}

// Codecs starts the pixel engine and asks it.
func Codecs() (CodecFacts, error) {
	engine, err := vips.New(vips.Config{AllowPDF: true})
	if err != nil {
		return CodecFacts{}, fmt.Errorf("start codecs: %w", err)
	}
	return CodecFacts{vips.Version(), engine.Abilities()}, nil
}

// CodecVersion is the version of the linked pixel engine, empty without one.
func CodecVersion() string { return vips.Version() }
