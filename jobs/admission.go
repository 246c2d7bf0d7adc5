package jobs

// admission is what a worker knows of its room before it claims.
type admission struct {
	free int // slots of the worker

	gated   bool
	slots   int // at the gate
	running int // at the gate, of all pools
	mine    int // of those, this worker's
	outside int // CPU jobs that were claimed and have not entered

	budget   int64 // memory at the gate; 0: no limit
	spare    int64 // of it, less what those outside will take
	heaviest int64 // of what the latest job of each type asked for; 0: nothing is known
}

// room is how many jobs may be claimed: so many as can start at once. What a
// job needs is only known when it is claimed, so the last one may turn out not
// to fit; it waits at the gate, and nothing is claimed before it has entered.
func (a admission) room() int {
	if !a.gated {
		return max(0, a.free)
	}
	if a.outside == 0 && a.mine == 0 {
		// Other pools may keep the gate full for ever. A turn comes by share,
		// and only to a pool that waits for one.
		a.running = min(a.running, a.slots-1)
		a.spare = max(a.spare, 1)
	}
	return max(0, min(a.free, a.slots-a.running-a.outside, a.byMemory()))
}

// byMemory takes each job to come for as heavy as the heaviest lately.
func (a admission) byMemory() int {
	switch {
	case a.budget == 0:
		return a.free
	case a.spare <= 0:
		return 0
	case a.heaviest == 0:
		return 1
	}
	return int(min(max(1, a.spare/a.heaviest), int64(a.slots)))
}

// admission takes a snapshot. What has just entered may be seen on both sides
// of the gate, which errs towards waiting; whatever moves, the loop looks again.
func (w *Worker) admission() admission {
	w.mu.Lock()
	a := admission{free: w.cfg.Slots - len(w.held), gated: w.cfg.Gate != nil}
	for _, memory := range w.needs {
		a.heaviest = max(a.heaviest, memory)
	}
	w.mu.Unlock()
	if !a.gated {
		return a
	}
	var claimed int64
	for _, d := range w.deliveries() {
		if at := d.at(); d.need.CPU && at < inHandler {
			a.outside++
			claimed += d.need.Memory
		}
	}
	gate := w.cfg.Gate.Stats()
	a.slots, a.running, a.budget = gate.Slots, gate.Running, gate.Memory
	a.spare = gate.Memory - gate.Held - claimed
	for _, m := range gate.Members {
		if m.Name == poolName {
			a.mine += m.Running
		}
	}
	return a
}
