package main

import (
	"errors"

	"github.com/spillway-media/spillway/bench/report"
)

// Where results are kept, seen from the root of the repository.
const (
	docFile  = "docs/performance.md"
	plotFile = "docs/images/performance.svg"
)

// keep writes what was asked for besides the table.
func (b *bench) keep() error {
	var faults []error
	if b.doc {
		page := report.Page{File: docFile, Opening: "<!-- results: written by make bench ARGS=-doc -->\n"}
		faults = append(faults, page.Keep(b.report))
	}
	if b.plot {
		if len(b.ladder) == 0 {
			return errors.Join(append(faults, errors.New("write plot: the open loop was not measured"))...)
		}
		faults = append(faults, report.WriteFile(plotFile, []byte(b.picture())))
	}
	return errors.Join(faults...)
}
