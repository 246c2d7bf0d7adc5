package fleet

import (
	"fmt"
	"slices"
	"strings"
)

// The names that keys of objects are looked up by.
var (
	queueNames    = []string{"images", "documents", "ocr", "media", "bulk"}
	providerNames = []string{"aws", "google", "ionos", "process", "hook"}
)

const (
	aDay   = 24 * 60 * 60
	aMonth = 31 * aDay
	// mostCents bounds limits and prices: ten million units of currency.
	mostCents = 1_000_000_000
)

// fileKeys are the keys of the file itself.
func fileKeys() []key[Config] {
	return []key[Config]{
		{spec: spec{name: "mode", def: `"vps_only"`, oneOf: []string{string(VPSOnly), string(Hybrid), string(CloudFirst)}, help: "What the scheduler may do at all: `vps_only`, `hybrid` or `cloud_first`."}, at: func(c *Config) any { return (*string)(&c.Mode) }},
		{spec: spec{name: "evaluation_interval_seconds", def: "60", unit: "seconds", low: 1, high: 3600, help: "Time from one tick to the next."}, at: func(c *Config) any { return &c.EvaluationInterval }},
		{spec: spec{name: "policy", def: `"seed"`, oneOf: []string{string(PolicySeed), string(PolicySteps), string(PolicyBacklog)}, help: "How the wanted number of workers is worked out: `seed`, `steps` or `backlog`."}, at: func(c *Config) any { return (*string)(&c.Policy) }},
		{spec: spec{name: "timezone", def: `"UTC"`, help: "Time zone whose midnight begins a day of spending."}, at: func(c *Config) any { return &c.Location }},
		{spec: spec{name: "target_drain_seconds", def: "300", unit: "seconds", low: 1, high: aDay, help: "Policy `backlog`: how fast what waits should be worked off."}, at: func(c *Config) any { return &c.TargetDrain }},
		{spec: spec{name: "min_lifetime_minutes", def: "0", unit: "minutes", low: 0, high: aDay / 60, help: "How old a machine must be before it can be taken for idle; 15 with policy `backlog` unless it is given."}, at: func(c *Config) any { return &c.MinLifetime }},
		{spec: spec{name: "max_terminations_per_tick", def: "5", low: 1, high: 10_000, help: "Idle machines, and machines without a row, that one tick ends at most."}, at: func(c *Config) any { return &c.MaxTerminations }},
		{spec: spec{name: "registration_timeout_seconds", def: "600", unit: "seconds", low: 30, high: aDay, help: "How long a machine may take until its worker has registered."}, at: func(c *Config) any { return &c.RegistrationTime }},
		{spec: spec{name: "provider_preference", oneOf: providerNames, help: "Providers in the order in which they are to be taken; without it the cheapest offer is."}, at: func(c *Config) any { return &c.ProviderPreference }},
		{spec: spec{name: "credit_margin_percent", def: "20", unit: "percent", low: 0, high: 10_000, help: "How far credits should lie above the cost of computing."}, at: func(c *Config) any { return &c.CreditMargin }},
		{spec: spec{name: "queues", help: "The queues, by name."}, sub: readQueues},
		{spec: spec{name: "cloud_providers", help: "The providers, by name."}, sub: readProviders},
		{spec: spec{name: "scaling_rules", help: "When there should be more machines, and when fewer."}, sub: func(c *Config, n *node, path string, f *faults) { readKeys(n, path, ruleKeys(), c, f) }},
		{spec: spec{name: "cost_limits", help: "Hard limits of spending."}, sub: func(c *Config, n *node, path string, f *faults) { readKeys(n, path, limitKeys(), &c.Limits, f) }},
		{spec: spec{name: "alerts", help: "Who is told of what."}, sub: func(c *Config, n *node, path string, f *faults) { readKeys(n, path, alertKeys(), &c.Alerts, f) }},
	}
}

func ruleKeys() []key[Config] {
	return []key[Config]{
		{spec: spec{name: "scale_up", help: "When a queue wants more."}, sub: func(c *Config, n *node, path string, f *faults) { readKeys(n, path, upKeys(), &c.ScaleUp, f) }},
		{spec: spec{name: "scale_down", help: "When workers are no longer wanted."}, sub: func(c *Config, n *node, path string, f *faults) { readKeys(n, path, downKeys(), &c.ScaleDown, f) }},
	}
}

func upKeys() []key[ScaleUp] {
	return []key[ScaleUp]{
		{spec: spec{name: "queue_depth_threshold", def: "10", unit: "jobs", low: 1, high: mostWhole, help: "Depth from which a queue wants one more worker."}, at: func(s *ScaleUp) any { return &s.QueueDepth }},
		{spec: spec{name: "oldest_job_age_seconds", def: "300", unit: "seconds", low: 1, high: aMonth, help: "Age of the oldest ready job from which a queue wants one more worker."}, at: func(s *ScaleUp) any { return &s.OldestAge }},
		{spec: spec{name: "cooldown_seconds", def: "120", unit: "seconds", low: 0, high: aDay, help: "Time from one launch for a queue to the next."}, at: func(s *ScaleUp) any { return &s.Cooldown }},
	}
}

func downKeys() []key[ScaleDown] {
	return []key[ScaleDown]{
		{spec: spec{name: "idle_minutes", def: "10", unit: "minutes", low: 1, high: aDay / 60, help: "How long a worker must have had nothing to do before it is ended."}, at: func(s *ScaleDown) any { return &s.Idle }},
		{spec: spec{name: "queue_depth_below", def: "2", unit: "jobs", low: 1, high: mostWhole, help: "Workers are ended only while their queues are less deep than this."}, at: func(s *ScaleDown) any { return &s.QueueBelow }},
		{spec: spec{name: "cooldown_seconds", def: "300", unit: "seconds", low: 0, high: aDay, help: "Time from a tick that ends idle workers of a queue to the next that does."}, at: func(s *ScaleDown) any { return &s.Cooldown }},
	}
}

func limitKeys() []key[Limits] {
	return []key[Limits]{
		{spec: spec{name: "max_hourly_spend_cents", def: "500", unit: "cents", low: 1, high: mostCents, help: "Nothing is launched that would take the cost of an hour over this. Must be there in `hybrid` and `cloud_first`."}, at: func(l *Limits) any { return &l.Hourly }},
		{spec: spec{name: "max_daily_spend_cents", def: "5000", unit: "cents", low: 1, high: mostCents, help: "All machines are ended before a day costs this, and the mode is `vps_only` until `spillway schedule reset`. Must be there in `hybrid` and `cloud_first`."}, at: func(l *Limits) any { return &l.Daily }},
		{spec: spec{name: "alert_threshold_cents", def: "0", unit: "cents", low: 0, high: mostCents, help: "Spending of a day at which a warning is sent; 0 sends none. Another is sent at 80 % of the daily limit."}, at: func(l *Limits) any { return &l.Alert }},
	}
}

func queueKeys() []key[Queue] {
	return []key[Queue]{
		{spec: spec{name: "baseline_workers", def: "0", low: 0, high: 1000, help: "Slots of the VPS worker that are kept for the queue; 0 takes what the others leave."}, at: func(q *Queue) any { return &q.BaselineWorkers }},
		{spec: spec{name: "max_workers", def: "1", low: 0, high: 10_000, help: "Workers of the queue at most: the baseline, launching and draining ones included."}, at: func(q *Queue) any { return &q.MaxWorkers }},
		{spec: spec{name: "cloud_enabled", def: "false", help: "Let machines be launched for the queue."}, at: func(q *Queue) any { return &q.CloudEnabled }},
		{spec: spec{name: "cloud_provider", null: true, oneOf: providerNames, help: "The only provider for the queue; null leaves it open."}, at: func(q *Queue) any { return &q.CloudProvider }},
		{spec: spec{name: "spot_preferred", def: "false", help: "Run standard jobs (priority 4 to 6) on spot machines as well."}, at: func(q *Queue) any { return &q.SpotPreferred }},
		{spec: spec{name: "batch", null: true, oneOf: []string{"aws", "google"}, help: "Provider whose managed batch service is to take the queue over: no machine is launched for it, and nothing is handed over yet; null none."}, at: func(q *Queue) any { return &q.Batch }},
		{spec: spec{name: "credit_cents_per_job", def: "0", unit: "cents", low: 0, high: mostCents, help: "What users pay for a job on average, to compare with the cost of computing; 0 compares nothing."}, at: func(q *Queue) any { return &q.CreditPerJob }},
	}
}

// readQueues fills in the usual queues that the file leaves out, so that what
// waits there is seen; they get no machines.
func readQueues(c *Config, n *node, path string, f *faults) {
	c.Queues = map[string]Queue{}
	names := slices.Clone(queueNames)
	if n != nil && n.kind != anObject {
		f.add(path, "must be an object, not %s", n.kind)
		n = nil
	}
	if n == nil {
		n = &node{}
	}
	for _, name := range n.keys {
		switch {
		case slices.Contains(names, name):
		case !queueName(name):
			f.add(join(path, name), "is no name of a queue: 1 to 40 lower-case letters, digits, - and _")
		case nearest(name, queueNames) != "":
			f.add(join(path, name), "is no queue%s", hint(name, queueNames))
		default:
			names = append(names, name)
		}
	}
	for _, name := range names {
		var q Queue
		readKeys(n.fields[name], join(path, name), queueKeys(), &q, f)
		c.Queues[name] = q
	}
}

// queueName is the rule of jobs.QueueName.
func queueName(text string) bool {
	return len(text) >= 1 && len(text) <= 40 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// named are the objects below a key whose own keys are names.
func named(n *node, path string, names []string, what string, f *faults) map[string]*node {
	if n == nil {
		return nil
	}
	if n.kind != anObject {
		f.add(path, "must be an object, not %s", n.kind)
		return nil
	}
	for _, name := range n.keys {
		if !slices.Contains(names, name) {
			f.add(join(path, name), "is no %s%s", what, hint(name, names))
		}
	}
	return n.fields
}

func alertKeys() []key[AlertConfig] {
	return []key[AlertConfig]{
		{spec: spec{name: "quiet_minutes", def: "60", unit: "minutes", low: 1, high: aMonth / 60, help: "How long an alert that goes on is not sent again."}, at: func(a *AlertConfig) any { return &a.Quiet }},
		{spec: spec{name: "channels", help: "Where alerts are sent, in a list."}, sub: readChannels},
	}
}

func channelKeys() []key[Channel] {
	return []key[Channel]{
		{spec: spec{name: "kind", must: true, oneOf: []string{"webhook", "console", "log"}, help: "`webhook`, `console` or `log`."}, at: func(c *Channel) any { return &c.Kind }},
		{spec: spec{name: "url", help: "Address of a webhook or console; it is a secret."}, at: func(c *Channel) any { return &c.URL }},
		{spec: spec{name: "key_file", help: "File with the key that a webhook is signed with, or the bearer token of a console."}, at: func(c *Channel) any { return &c.KeyFile }},
		{spec: spec{name: "template", help: "Go template of the JSON that is sent; without it the document below."}, at: func(c *Channel) any { return &c.Template }},
		{spec: spec{name: "levels", oneOf: []string{string(Info), string(Warning), string(Critical)}, help: "Levels that go there: `info`, `warning`, `critical`; without it all."}, at: func(c *Channel) any { return &c.Levels }},
	}
}

func readChannels(a *AlertConfig, n *node, path string, f *faults) {
	if n == nil {
		return
	}
	if n.kind != aList {
		f.add(path, "must be a list, not %s", n.kind)
		return
	}
	for i, item := range n.items {
		var c Channel
		readKeys(item, fmt.Sprintf("%s[%d]", path, i), channelKeys(), &c, f)
		a.Channels = append(a.Channels, c)
	}
}
