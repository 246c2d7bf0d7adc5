package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Where results are kept, seen from the root of the repository.
const (
	docFile   = "docs/h2.md"
	stripFile = "docs/images/h2-filmstrip.webp"
	opening   = "<!-- results: written by make bench-h2 ARGS=-doc -->\n"
	closing   = "<!-- /results -->\n"
)

// keep writes what was asked for besides the report.
func (b *bench) keep() error {
	if !b.doc {
		return nil
	}
	var text strings.Builder
	b.report.write(&text)
	page, err := os.ReadFile(docFile)
	if err != nil {
		return fmt.Errorf("read page of results: %w", err)
	}
	changed, err := between(string(page), text.String())
	if err != nil {
		return fmt.Errorf("write results into %s: %w", docFile, err)
	}
	err = writeFile(docFile, []byte(changed))
	if b.strip != nil {
		err = errors.Join(err, writeFile(stripFile, b.strip))
	}
	return err
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

func writeFile(name string, data []byte) error {
	if err := os.WriteFile(name, data, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
