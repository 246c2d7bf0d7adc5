package main

import (
	"context"
	"fmt"

	"github.com/spillway-media/spillway/elastic"
)

// scaler is the pool of this repository as a shape of the ladder.
type scaler struct {
	pool    *elastic.DynamicScaler[*job]
	outside bool // the caller fetches, the pool only processes
	stop    context.CancelFunc
	ended   chan error
}

// scalers are the pool with a fixed number of workers and the elastic one.
func scalers(cores int) []entry {
	list := []entry{
		{name: "DynamicScaler 4, whole job", start: func() shape {
			return newScaler(elastic.Config[*job]{Handler: whole, MinWorkers: 4, MaxWorkers: 4}, false)
		}},
		{name: stageOnly(4), note: "the fetch waits outside, gate", start: newStageOnly(4, cores)},
		{name: elasticName(cores), note: "whole job, fetch inside, gate", start: func() shape {
			return newScaler(elastic.Config[*job]{Handler: gated, MinWorkers: cores, MaxWorkers: callers, Gate: newGate(cores)}, false)
		}},
	}
	for _, n := range []int{cores, 8, 16} {
		list = append(list, entry{name: stageOnly(n), sweep: true, start: newStageOnly(n, cores)})
	}
	return list
}

func elasticName(cores int) string { return fmt.Sprintf("DynamicScaler %d to %d", cores, callers) }

func stageOnly(n int) string { return fmt.Sprintf("DynamicScaler %d, CPU stage", n) }

func newStageOnly(n, cores int) func() shape {
	return func() shape {
		cfg := elastic.Config[*job]{Handler: stage, MinWorkers: n, MaxWorkers: n, Gate: newGate(cores), CPUBound: true}
		return newScaler(cfg, true)
	}
}

func newGate(cores int) *elastic.Gate {
	g, err := elastic.NewGate(elastic.GateConfig{Slots: cores})
	must(err)
	return g
}

func whole(_ context.Context, j *job) error {
	j.run()
	return nil
}

func stage(_ context.Context, j *job) error {
	j.process()
	return nil
}

// gated marks the CPU stage, so that the fetch holds a worker but no core.
func gated(ctx context.Context, j *job) error {
	j.fetch()
	leave, err := elastic.EnterCPU(ctx, 0)
	if err != nil {
		return err
	}
	defer leave()
	j.process()
	return nil
}

func newScaler(cfg elastic.Config[*job], outside bool) shape {
	pool, err := elastic.New(cfg)
	must(err)
	ctx, stop := context.WithCancel(context.Background())
	s := &scaler{pool: pool, outside: outside, stop: stop, ended: make(chan error, 1)}
	go func() { s.ended <- pool.Run(ctx) }()
	return s
}

func (s *scaler) do(j *job) {
	if s.outside {
		j.fetch()
	}
	must(s.pool.Submit(context.Background(), j))
}

func (s *scaler) close() {
	s.stop()
	must(<-s.ended)
}

// size implements sized.
func (s *scaler) size() (int, uint64) {
	stats := s.pool.Stats()
	var refused uint64
	for _, times := range stats.GateRefusals {
		refused += times
	}
	return stats.Total, refused
}
