package fleet

import "fmt"

// registered gives the workers that should be alive, and whether they are.
func (w *watch) registered(each func(x *Worker, stale bool)) {
	if w.snap.faulty("database") {
		return // what is in the snapshot is not of now
	}
	for i := range w.snap.Workers {
		x := &w.snap.Workers[i]
		if x.RegisteredAt.IsZero() || (x.Status != Active && x.Status != Draining) {
			continue
		}
		each(x, w.at.Sub(x.LastHeartbeat) > alertHeartbeat)
	}
}

func (w *watch) heartbeat() {
	w.registered(func(x *Worker, stale bool) {
		if stale {
			ago := minutes(w.at.Sub(x.LastHeartbeat))
			w.raise(x.ID, ago, minutes(alertHeartbeat), "Worker %s was last heard of %s ago", x.ID, ago)
		}
	})
}

func (w *watch) allUnhealthy() {
	all, healthy := 0, 0
	w.registered(func(_ *Worker, stale bool) {
		all++
		if !stale {
			healthy++
		}
	})
	if all > 0 && healthy == 0 {
		w.raise("", fmt.Sprint(all), minutes(alertHeartbeat), "None of %d workers has been heard of for %s", all, minutes(alertHeartbeat))
	}
}

func (w *watch) cpu() {
	w.registered(func(x *Worker, _ bool) {
		if x.CPUPercent > alertCPU && w.at.Sub(x.CPUAt) <= alertReadingsAge {
			w.raise(x.ID, fmt.Sprintf("%.1f %%", x.CPUPercent), fmt.Sprintf("%.0f %%", alertCPU), "Worker %s has used over %.0f %% of its CPU for %s", x.ID, alertCPU, minutes(alertCPUFor))
		}
	})
}

func (w *watch) dailyLimit() {
	latch := w.snap.Latch
	for i := range w.decided {
		if w.decided[i].Kind == KindRevert {
			latch = w.decided[i].Latch
		}
		if w.decided[i].Kind == KindReset {
			latch = nil
		}
	}
	if latch != nil {
		w.raise("", latch.Spent.String(), latch.Limit.String(), "The daily limit of %s is reached: all machines are ended and the mode is %s until it is reset in the shell", latch.Limit, VPSOnly)
	}
}

func (w *watch) dailySpend() {
	day, limit := w.snap.Spend.Day, w.cfg.Limits.Daily
	if limit > 0 && day*100 > limit*alertSpend {
		w.raise("", day.String(), limit.String(), "The day has cost %s, over %d %% of the daily limit of %s", day, alertSpend, limit)
	}
}

func (w *watch) spendThreshold() {
	day, threshold := w.snap.Spend.Day, w.cfg.Limits.Alert
	if threshold > 0 && day >= threshold {
		w.raise("", day.String(), threshold.String(), "The day has cost %s: alert_threshold_cents is %s", day, threshold.Number())
	}
}

func (w *watch) faults() {
	for _, f := range w.snap.Faults {
		brief := fmt.Sprintf("The scheduler cannot see %s, and holds what hangs on it", f.Source)
		w.raise(f.Source, fmt.Sprint(f.Times), "", "%s: %s", brief, f.Reason).brief = brief
	}
}

// settings tells of a file that was changed and cannot be taken.
func (w *watch) settings() {
	if w.snap.Refused != "" {
		const brief = "The scheduler's file as it stands is refused, and the settings before it stay in force"
		w.raise("", "", "", "%s: %s", brief, w.snap.Refused).brief = brief
	}
}

// refusals tells of what waiting does not mend: a quota, or a mistake in
// settings or permissions.
func (w *watch) refusals() {
	for _, c := range w.snap.Memory.CoolOffs {
		if (c.Outcome == OverQuota || c.Outcome == Permanent) && c.Until.After(w.now) {
			w.raise(c.Provider, string(c.Outcome), "", "Provider %s refuses to launch (%s): nothing is launched there until %s", c.Place, c.Outcome, c.Until.UTC().Format("15:04 MST"))
		}
	}
}
