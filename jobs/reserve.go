package jobs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// reserve is how many slots are kept for each queue; jobs of others share the
// rest, and a queue that has used up its own shares it, too.
type reserve map[string]int

// validate joins every fault. slots 0 is not known yet.
func (r reserve) validate(queues []string, slots int) error {
	var errs []error
	sum, own := 0, 0
	for _, queue := range slices.Sorted(maps.Keys(r)) {
		n := r[queue]
		sum += max(0, n)
		if n > 0 {
			own++
		}
		if n < 0 {
			errs = append(errs, fmt.Errorf("reserve keeps %d slots for %.60q; it must be at least 0", n, queue))
		}
		if !slices.Contains(queues, queue) {
			errs = append(errs, fmt.Errorf("reserve keeps slots for %.60q, which is not in Row.Queues", queue))
		}
	}
	if own < len(queues) {
		sum++ // one to share, or the others would never run
	}
	if slots > 0 && len(r) > 0 && sum > slots {
		errs = append(errs, fmt.Errorf("reserve needs %d slots, one to share included where a queue has none, and Slots is %d", sum, slots))
	}
	return errors.Join(errs...)
}

// open says of which queues how many jobs may be claimed, when there is room for
// so many and these are held. Where a gate leaves less room than there are
// slots, jobs that share leave it to the queues that slots are kept for, but for
// one job: on a small machine they would never run otherwise.
func (r reserve) open(queues []string, held map[string]int, room, slots int) ([]string, int) {
	if len(r) == 0 || room <= 0 {
		return queues, max(0, room)
	}
	kept, unused, sharing := 0, 0, 0
	var own []string // with slots that are kept for it and free
	for _, queue := range queues {
		kept += r[queue]
		unused += max(0, r[queue]-held[queue])
		sharing += max(0, held[queue]-r[queue])
		if held[queue] < r[queue] {
			own = append(own, queue)
		}
	}
	free := slots - kept - sharing
	shared := min(free, room-unused)
	if sharing == 0 && free > 0 {
		shared = max(shared, 1)
	}
	switch {
	case shared > 0:
		return queues, min(room, shared)
	case len(own) == 1:
		return own, min(room, r[own[0]]-held[own[0]])
	case len(own) > 1:
		return own, 1 // more could all be of one of them
	}
	return nil, 0
}

// opened is what may be claimed now.
func (w *Worker) opened() ([]string, int) {
	room := w.room()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.freed = false
	held := map[string]int{}
	for d := range w.held {
		held[d.job.Queue]++
	}
	queues, n := reserve(w.cfg.Reserve).open(w.cfg.Row.Queues, held, room, w.cfg.Slots)
	w.narrowed = len(queues) < len(w.cfg.Row.Queues)
	return queues, n
}
