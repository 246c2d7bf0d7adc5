package process

import (
	"context"
	"sync"
	"time"
)

// Sampler notes the most memory that a process and its children held.
type Sampler struct {
	mu   sync.Mutex
	most int64
	stop context.CancelFunc
	done sync.WaitGroup
}

// between is how often memory is looked at. The kernel keeps the peak of the
// process itself, so only children could hide in between.
const between = 100 * time.Millisecond

// Watch samples a process until Most is asked for.
func Watch(ctx context.Context, pid int) *Sampler {
	ctx, stop := context.WithCancel(ctx)
	s := &Sampler{stop: stop}
	s.done.Go(func() { s.run(ctx, pid) })
	return s
}

func (s *Sampler) run(ctx context.Context, pid int) {
	ticker := time.NewTicker(between)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.look(pid)
		}
	}
}

func (s *Sampler) look(pid int) {
	held, err := Held(pid)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = max(s.most, held.Now, held.Peak)
}

// Most ends the sampling and gives the largest sum seen, at least the peak of
// the process itself.
func (s *Sampler) Most() int64 {
	s.stop()
	s.done.Wait()
	return s.most
}
