package fleet

// wantSeed is the seed's rule: one more whenever the depth or the age of the
// oldest ready job has reached its threshold.
func wantSeed(cfg Config, v view) want {
	w := want{workers: v.have, patient: true, inputs: thresholds(cfg, v)}
	if w.rule = reached("seed", cfg, v); w.rule != "" {
		w.workers = v.have + 1
	}
	return w
}

// reached names the threshold of scale_up that the queue has reached; "" none.
func reached(policy string, cfg Config, v view) string {
	switch {
	case v.Depth >= int64(cfg.ScaleUp.QueueDepth):
		return policy + ".queue_depth_threshold"
	case v.Oldest >= cfg.ScaleUp.OldestAge:
		return policy + ".oldest_job_age_seconds"
	}
	return ""
}

func thresholds(cfg Config, v view) []Fact {
	return []Fact{
		{"queue_depth", number(v.Depth)},
		{"queue_depth_threshold", number(cfg.ScaleUp.QueueDepth)},
		{"oldest_age_seconds", seconds(v.Oldest)},
		{"oldest_job_age_seconds", seconds(cfg.ScaleUp.OldestAge)},
		{"workers", number(v.have)},
		{"launching", number(v.launching)},
	}
}
