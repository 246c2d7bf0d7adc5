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
	//
	// With an error nothing is marked: the phase is none of priority's, the
	// handler has returned, or bytes that were written before could not be
	// sent on, as the client has gone.
	SetPhase(phase priority.Phase, size int64) error
}

// SetPhase marks what is written to w from now on: size bytes of phase, -1 if
// that is not known. It finds the PhaseWriter behind any number of wrappers that
// have the Unwrap method of http.ResponseController. Where there is none, as over
// HTTP/1.1, the error matches errors.ErrUnsupported, and what is written is sent
// all the same.
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
