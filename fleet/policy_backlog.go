package fleet

import (
	"cmp"
	"math"
	"strconv"
	"time"
)

// wantBacklog is Little's law: the jobs that arrive keep arrivals x service time
// slots busy, and working off what waits within target_drain_seconds takes
// depth x service time / target more. What it lowers, it lowers only to the
// highest that it asked for within the cooldown of scale_down.
func wantBacklog(now time.Time, cfg Config, snap Snapshot, mode Mode, v view) want {
	per := slotsPerMachine(cfg, snap, v)
	busy := busySlots(cfg, v)
	vps := vpsSlots(mode, v, busy)
	machines := max(int(math.Ceil((busy-vps)/float64(per)-rounding)), 0)
	w := want{workers: v.cfg.BaselineWorkers + machines, inputs: backlogInputs(cfg, v, busy, vps, per)}
	if w.workers > v.have {
		w.rule = "backlog.target_drain_seconds"
	}
	w.keep = highest(now, cfg, snap.Memory.Wants[v.Name])
	return w.overdue(cfg, v)
}

// rounding keeps a sum that is a whole number, but for its last bits, from
// costing one machine more.
const rounding = 1e-9

// overdue adds one when the formula does not see what waits: a service time that
// nobody knows yet, or a job that no worker there may take.
func (w want) overdue(cfg Config, v view) want {
	rule := ""
	switch {
	case v.Service <= 0:
		rule = reached("backlog", cfg, v)
	case v.Oldest >= cfg.ScaleUp.OldestAge:
		rule = "backlog.oldest_job_age_seconds"
	}
	if rule == "" {
		return w
	}
	w.keep = max(w.keep, v.have+1)
	if w.workers <= v.have && v.launching == 0 {
		w.rule, w.workers, w.patient = rule, v.have+1, true
	}
	return w
}

// busySlots is bounded, so that no figure that a store answers overflows.
func busySlots(cfg Config, v view) float64 {
	service := v.Service.Seconds()
	busy := v.Arrivals * service
	if target := cfg.TargetDrain.Seconds(); target > 0 {
		busy += float64(v.Depth) * service / target
	}
	if math.IsNaN(busy) {
		return 0
	}
	return min(max(busy, 0), 1e6)
}

// vpsSlots is what the VPS takes of it: in cloud_first no more than the part of
// the interactive jobs, for which it is kept.
func vpsSlots(mode Mode, v view, busy float64) float64 {
	vps := float64(v.cfg.BaselineWorkers) + v.shared
	if mode != CloudFirst {
		return vps
	}
	interactive, others := float64(v.Bands[Interactive].Depth), float64(v.others())
	if interactive+others == 0 {
		return 0
	}
	return min(vps, busy*interactive/(interactive+others))
}

// slotsPerMachine is what machines of this queue have, and before there are any,
// what the smallest on offer would have.
func slotsPerMachine(cfg Config, snap Snapshot, v view) int {
	if v.machines > 0 {
		return max(v.room/v.machines, 1)
	}
	least := 0
	for _, o := range snap.Offers {
		p := cfg.Providers[o.Provider]
		slots := cmp.Or(o.Slots, p.Slots) // as the machine's row will have it
		if slots <= 0 || o.Market == VPS || !p.Enabled ||
			v.cfg.CloudProvider != "" && v.cfg.CloudProvider != o.Provider {
			continue
		}
		if least == 0 || slots < least {
			least = slots
		}
	}
	return max(least, 1)
}

// highest of what was recommended within the window.
func highest(now time.Time, cfg Config, wants []Want) int {
	most := 0
	for _, w := range wants {
		if now.Sub(w.At) <= cfg.ScaleDown.Cooldown {
			most = max(most, w.Workers)
		}
	}
	return most
}

func backlogInputs(cfg Config, v view, busy, vps float64, per int) []Fact {
	return []Fact{
		{"queue_depth", number(v.Depth)},
		{"oldest_age_seconds", seconds(v.Oldest)},
		{"arrivals_per_second", decimal(v.Arrivals)},
		{"service_seconds", decimal(v.Service.Seconds())},
		{"target_drain_seconds", seconds(cfg.TargetDrain)},
		{"busy_slots", decimal(busy)},
		{"vps_slots", decimal(vps)},
		{"slots_per_machine", number(per)},
		{"workers", number(v.have)},
		{"launching", number(v.launching)},
	}
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }
