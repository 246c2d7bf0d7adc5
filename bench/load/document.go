package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Where results are kept, seen from the root of the repository.
const (
	docFile  = "docs/performance.md"
	plotFile = "docs/images/performance.svg"
	opening  = "<!-- results: written by make bench ARGS=-doc -->\n"
	closing  = "<!-- /results -->\n"
)

// keep writes what was asked for besides the table.
func (b *bench) keep() error {
	var faults []error
	if b.doc {
		var text strings.Builder
		b.report.write(&text)
		faults = append(faults, into(docFile, text.String()))
	}
	if b.plot {
		if len(b.ladder) == 0 {
			return errors.Join(append(faults, errors.New("write plot: the open loop was not measured"))...)
		}
		faults = append(faults, writeFile(plotFile, b.picture()))
	}
	return errors.Join(faults...)
}

func into(file, results string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read page of results: %w", err)
	}
	changed, err := between(string(page), results)
	if err != nil {
		return fmt.Errorf("write results into %s: %w", file, err)
	}
	return writeFile(file, changed)
}

// between puts results between the markers of a page.
func between(page, results string) (string, error) {
	before, rest, opened := strings.Cut(page, opening)
	_, after, closed := strings.Cut(rest, closing)
	if !opened || !closed {
		return "", errors.New("the markers of the results are not there")
	}
	return before + opening + "\n" + strings.TrimSpace(results) + "\n\n" + closing + after, nil
}

func writeFile(name, text string) error {
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
