package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
)

// figures are the server's metrics at one moment.
type figures map[string]float64

// read asks the admin listener for them.
func figuresOf(ctx context.Context, s *process.Server) (figures, error) {
	client := traffic.NewClient(s.Admin)
	defer client.Close()
	var body bytes.Buffer
	sample, _ := client.Fetch(ctx, "/metrics", nil, &body)
	if !sample.OK() {
		return nil, fmt.Errorf("read metrics: status %d", sample.Status)
	}
	return parseFigures(body.String()), nil
}

// parseFigures reads the text format of Prometheus. Names keep their labels,
// as in `name{label="value"}`.
func parseFigures(text string) figures {
	f := figures{}
	for line := range strings.Lines(text) {
		at := strings.LastIndexByte(strings.TrimSpace(line), ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		if value, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64); err == nil {
			f[line[:at]] = value
		}
	}
	return f
}
