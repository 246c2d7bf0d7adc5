package fleet

import (
	"strconv"
	"time"
)

// want is what a policy asks for one queue, before any limit.
type want struct {
	// workers are wanted now, the baseline and launching ones included.
	workers int
	// keep is the least that a removal may leave, where that is more than workers.
	keep int
	// rule names what asks for more; "" when nothing does.
	rule string
	// patient rules wait for the cooldown of scale_up.
	patient bool
	// clear lets all burst workers without a job go: the last row of steps.
	clear  bool
	inputs []Fact
}

// wantOf asks the configured policy. In cloud_first any ready job that is not
// interactive asks for a machine without waiting for thresholds.
func wantOf(now time.Time, cfg Config, snap Snapshot, mode Mode, v view) want {
	var w want
	switch cfg.Policy {
	case PolicySteps:
		w = wantSteps(now, cfg, snap.Memory, v)
	case PolicyBacklog:
		w = wantBacklog(now, cfg, snap, mode, v)
	default:
		w = wantSeed(cfg, v)
	}
	if mode == CloudFirst {
		w = w.cloudFirst(v)
	}
	if v.Source != "" {
		w.inputs = append(w.inputs, Fact{"depth_from", v.Source})
	}
	return w
}

func (w want) cloudFirst(v view) want {
	others := v.others()
	w.inputs = append(w.inputs, Fact{"ready_not_interactive", strconv.FormatInt(others, 10)},
		Fact{"free_cloud_slots", strconv.Itoa(v.free)})
	if others == 0 {
		return w
	}
	w.keep = v.have + 1
	if others > int64(v.free) && w.workers <= v.have && v.launching == 0 {
		w.rule, w.patient, w.workers = "cloud_first.ready_jobs", true, v.have+1
	}
	return w
}

// seconds prints a duration as the whole seconds in it.
func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }

func number[N ~int | ~int64](n N) string { return strconv.FormatInt(int64(n), 10) }
