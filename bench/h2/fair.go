package main

import (
	"context"
	"strings"

	"github.com/spillway-media/spillway/bench/h2/fairness"
)

// fairness compares schedulers, without any network.
func (b *bench) fairness(context.Context) error {
	found := fairness.Measure()
	var text strings.Builder
	found.Write(&text)
	b.report.Text(text.String())
	for _, t := range found.Targets() {
		b.report.Holds(t.Name, "", t.Met, t.Found, "")
	}
	return nil
}
