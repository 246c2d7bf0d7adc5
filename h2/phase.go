package h2

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spillway-media/spillway/h2/priority"
)

// PhaseWriter is what a ResponseWriter of this package is besides. Handlers
// reach it through SetPhase, whatever wraps their ResponseWriter.
type PhaseWriter interface {
	http.ResponseWriter
	// SetPhase says what the bytes are that are written from now on, until it
	// is called again, and how many of them there will be; -1 is not known.
	// A frame never holds bytes of two phases. The size is for the order of
	// streams only: a wrong one costs time, never bytes.
	SetPhase(phase priority.Phase, size int64) error
}

// SetPhase marks what is written to w from now on. Where w leads to no
// PhaseWriter, as over HTTP/1.1, the error matches errors.ErrUnsupported, and
// what is written is sent all the same.
func SetPhase(w http.ResponseWriter, phase priority.Phase, size int64) error {
	for {
		switch t := w.(type) {
		case PhaseWriter:
			return t.SetPhase(phase, size)
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return fmt.Errorf("mark a phase: %w", errors.ErrUnsupported)
		}
	}
}
