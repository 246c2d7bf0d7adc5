package main

import (
	"errors"

	"github.com/spillway-media/spillway/bench/report"
)

// Where results are kept, seen from the root of the repository.
const (
	docFile   = "docs/h2.md"
	stripFile = "docs/images/h2-filmstrip.webp"
)

// keep writes what was asked for besides the report.
func (b *bench) keep() error {
	if !b.doc {
		return nil
	}
	page := report.Page{File: docFile, Opening: "<!-- results: written by make bench-h2 ARGS=-doc -->\n"}
	err := page.Keep(b.report)
	if b.strip != nil {
		err = errors.Join(err, report.WriteFile(stripFile, b.strip))
	}
	return err
}
