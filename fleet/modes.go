package fleet

import "slices"

// ModeOf is the mode that counts: what the file says, and vps_only for as long
// as the daily limit's latch is set.
func ModeOf(cfg Config, snap Snapshot) Mode {
	if snap.Latch != nil || cfg.Mode == "" {
		return VPSOnly
	}
	return cfg.Mode
}

// mode is ModeOf, and vps_only from the decision on that trips the latch.
func (d *deciding) mode() Mode {
	if d.tripped() {
		return VPSOnly
	}
	return ModeOf(d.cfg, d.snap)
}

func (d *deciding) tripped() bool {
	return slices.ContainsFunc(d.out, func(x Decision) bool { return x.Kind == KindRevert })
}

// Serves is true for a worker that claims from the queue.
func (w Worker) Serves(queue string) bool { return slices.Contains(w.Queues, queue) }
