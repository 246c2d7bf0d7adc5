package fleet

import "time"

// view is one queue with what is there for it, as policies and limits see it.
type view struct {
	QueueState
	cfg Queue
	// have is capacity: the baseline and the cloud workers that are not draining.
	// Launching ones are capacity that is on its way, parked ones are none.
	have, launching int
	// counted is what max_workers bounds: draining and parked ones as well.
	counted int
	// slots are those of the cloud workers in have, free the ones without a job.
	slots, free int
	// machines are those in have and the parked ones, which are no capacity, and
	// room their slots.
	machines, room int
	// shared are the VPS slots that no queue has reserved, in equal parts for
	// the queues with jobs.
	shared float64
	// markets splits the cloud workers in have.
	markets map[Market]int
}

func viewOf(cfg Config, snap Snapshot, workers []Worker, q QueueState) view {
	v := view{QueueState: q, cfg: cfg.Queues[q.Name], markets: map[Market]int{}}
	// A doorbell that was just emptied says 0 while jobs wait in the database.
	if v.Oldest = max(v.Oldest, 0); v.Depth <= 0 && v.Rows <= 0 {
		v.Oldest = 0
	}
	v.have, v.counted = v.cfg.BaselineWorkers, v.cfg.BaselineWorkers
	for _, w := range workers {
		if w.Cloud() && w.Serves(q.Name) {
			v.count(w)
		}
	}
	v.shared = sharedSlots(cfg, snap, workers, q.Name)
	return v
}

func (v *view) count(w Worker) {
	if w.Status == Terminated {
		return
	}
	v.counted++
	if w.Status == Draining {
		return
	}
	v.machines++
	v.room += max(w.Slots, 1)
	if w.Parked() {
		return
	}
	v.have++
	if w.Status == Provisioning {
		v.launching++
	}
	v.slots += max(w.Slots, 1)
	v.free += max(max(w.Slots, 1)-w.Claimed, 0)
	v.markets[w.Market]++
}

// without is the view once a worker drains that it counts: one without a job, so
// that all its slots are free. Markets are as before.
func (v view) without(w Worker) view {
	v.machines--
	v.room -= max(w.Slots, 1)
	if !w.Parked() {
		v.have--
		v.slots -= max(w.Slots, 1)
		v.free -= max(w.Slots, 1)
	}
	return v
}

// others counts ready jobs that are not interactive.
func (v view) others() int64 { return v.Bands[Standard].Depth + v.Bands[Bulk].Depth }

// freshHeartbeat is the seed's bound for a worker that is heard of.
const freshHeartbeat = 2 * time.Minute

// ready is true for a worker that takes jobs now.
func ready(now time.Time, w Worker) bool {
	return w.Status == Active && !w.Parked() && !w.RegisteredAt.IsZero() && now.Sub(w.LastHeartbeat) <= freshHeartbeat
}

// sharedSlots is the part of a queue in the VPS slots that are kept for none.
func sharedSlots(cfg Config, snap Snapshot, workers []Worker, queue string) float64 {
	slots := 0
	for _, w := range workers {
		if !w.Cloud() && w.Status == Active && w.Serves(queue) {
			slots += max(w.Slots, 1)
		}
	}
	busy := 1
	for _, q := range snap.Queues {
		slots -= cfg.Queues[q.Name].BaselineWorkers
		if q.Name != queue && q.Depth+q.Running > 0 {
			busy++
		}
	}
	return float64(max(slots, 0)) / float64(busy)
}
