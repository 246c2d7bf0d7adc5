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

// mode is ModeOf, which sees a latch that this tick trips as well.
func (d *deciding) mode() Mode { return ModeOf(d.cfg, d.snap) }

// Serves is true for a worker that claims from the queue.
func (w Worker) Serves(queue string) bool { return slices.Contains(w.Queues, queue) }
