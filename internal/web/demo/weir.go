package demo

import (
	_ "embed"
	"io"
)

//go:embed weir.svg
var weirSVG []byte

// weir is the one picture drawn by hand.
func weir(w io.Writer) error {
	_, err := w.Write(weirSVG)
	return err
}
