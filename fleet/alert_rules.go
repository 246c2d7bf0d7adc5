package fleet

import (
	"fmt"
	"strings"
	"time"
)

// What is watched, by the table of the scheduler's contract.
const (
	alertDepth       = 50
	alertDepthFor    = 10 * time.Minute
	alertAge         = 15 * time.Minute // of priority 1 to 3
	alertCPU         = 90.0
	alertCPUFor      = 10 * time.Minute
	alertFailures    = 10 // percent of the last 100 attempts
	alertSpend       = 80 // percent of the daily limit
	alertHeartbeat   = 2 * time.Minute
	alertDrift       = 2               // ticks
	alertReadingsAge = 5 * time.Minute // of worker_metrics; older ones say nothing
	// alertFinished is how many attempts make a rate: one failure of one is no spike.
	alertFinished = 20
)

// alertRule is one row of the table.
type alertRule struct {
	name  string
	level Level
	after time.Duration // for how long it must hold
	// of says what a subject is: "queue", "worker", "machine", or "" for no subject but itself.
	of   string
	what string // it, as a resolved notice names it
}

// alertRules is the table; watch.find says how each is found.
var alertRules = [...]alertRule{
	{name: "daily_limit", level: Critical, what: "the daily limit"},
	{name: "not_ended", level: Critical, of: "machine", what: "the end"},
	{name: "workers_unhealthy", level: Critical, of: "workers", what: "all workers unhealthy"},
	{name: "failure_rate", level: Critical, of: "queue", what: "failures of jobs"},
	{name: "queue_depth", level: Warning, after: alertDepthFor, of: "queue", what: "depth"},
	{name: "job_age", level: Warning, of: "queue", what: "age of interactive jobs"},
	{name: "steps_top", level: Warning, of: "queue", what: "the top row of policy steps"},
	{name: "queue_drift", level: Warning, of: "queue", what: "difference between Redis and the database"},
	{name: "worker_cpu", level: Warning, after: alertCPUFor, of: "worker", what: "CPU"},
	{name: "heartbeat", level: Warning, of: "worker", what: "heartbeat"},
	{name: "daily_spend", level: Warning, what: "spending near the daily limit"},
	{name: "spend_threshold", level: Warning, what: "spending over alert_threshold_cents"},
	{name: "observation", level: Warning, of: "source", what: "observation"},
	{name: "settings", level: Warning, what: "settings that are refused"},
	{name: "provider", level: Warning, of: "provider", what: "refusals"},
}

// find looks for what its rule is about.
func (w *watch) find() {
	switch w.rule.name {
	case "daily_limit":
		w.dailyLimit()
	case "not_ended":
		w.notEnded()
	case "workers_unhealthy":
		w.allUnhealthy()
	case "failure_rate":
		w.failures()
	case "queue_depth":
		w.depth()
	case "job_age":
		w.age()
	case "steps_top":
		w.stepsTop()
	case "queue_drift":
		w.drift()
	case "worker_cpu":
		w.cpu()
	case "heartbeat":
		w.heartbeat()
	case "daily_spend":
		w.dailySpend()
	case "spend_threshold":
		w.spendThreshold()
	case "observation":
		w.faults()
	case "settings":
		w.settings()
	case "provider":
		w.refusals()
	}
}

// ruleOf takes the key of a notice apart.
func ruleOf(key string) (alertRule, string) {
	name, subject, _ := strings.Cut(key, "/")
	for i := range alertRules {
		if alertRules[i].name == name {
			return alertRules[i], subject
		}
	}
	return alertRule{name: name, level: Warning, what: name}, subject // of an earlier version
}

func (r *alertRule) title(subject string) string {
	if subject == "" {
		return r.what
	}
	return r.what + " of " + r.of + " " + subject
}

func (r *alertRule) notice(now time.Time, key, subject string, c Condition) Notice {
	n := Notice{Key: key, Level: r.level, Name: r.name, At: now, Since: c.Since}
	switch r.of {
	case "queue":
		n.Queue = subject
	case "worker":
		n.WorkerID = subject
	}
	return n
}

// finding is a condition that holds. What is brief leaves out the words of an
// error, which are for those who are told and not for whoever lists decisions.
type finding struct{ sentence, brief, value, threshold string }

// watch is one look at everything.
type watch struct {
	now, at time.Time // the tick's, and the database's
	cfg     Config
	snap    Snapshot
	decided []Decision
	rule    *alertRule
	found   map[string]*finding
}

func (w *watch) raise(subject, value, threshold, sentence string, args ...any) *finding {
	key := w.rule.name
	if subject != "" {
		key += "/" + subject
	}
	f := &finding{sentence: fmt.Sprintf(sentence, args...), value: value, threshold: threshold}
	w.found[key] = f
	return f
}

// unseen is true for what this look could not see.
func (w *watch) unseen(key string) bool {
	rule, subject := ruleOf(key)
	switch rule.of {
	case "worker", "workers":
		return w.snap.faulty("database")
	case "machine":
		return w.unseenMachine(subject)
	case "queue":
		_, wanted := w.cfg.Queues[subject]
		return wanted && (w.snap.faulty("database") || !w.snap.has(subject))
	}
	return false
}

func (s Snapshot) faulty(source string) bool {
	for _, f := range s.Faults {
		if f.Source == source {
			return true
		}
	}
	return false
}

func (s Snapshot) has(queue string) bool {
	for i := range s.Queues {
		if s.Queues[i].Name == queue {
			return true
		}
	}
	return false
}

// queues gives those that were seen.
func (w *watch) queues(each func(q *QueueState)) {
	for i := range w.snap.Queues {
		if q := &w.snap.Queues[i]; !w.unseen("queue_depth/" + q.Name) {
			each(q)
		}
	}
}

func (w *watch) depth() {
	w.queues(func(q *QueueState) {
		if q.Depth > alertDepth {
			w.raise(q.Name, fmt.Sprint(q.Depth), fmt.Sprint(alertDepth), "Queue %s has been over %d jobs for %s: %d are waiting", q.Name, alertDepth, minutes(alertDepthFor), q.Depth)
		}
	})
}

func (w *watch) age() {
	w.queues(func(q *QueueState) {
		if oldest := q.Bands[Interactive].Oldest; oldest > alertAge {
			w.raise(q.Name, minutes(oldest), minutes(alertAge), "A job of priority 1 to 3 in queue %s has been waiting for %s", q.Name, minutes(oldest))
		}
	})
}

func (w *watch) failures() {
	w.queues(func(q *QueueState) {
		if q.Finished >= alertFinished && q.Failed*100 > q.Finished*alertFailures {
			w.raise(q.Name, fmt.Sprintf("%d of %d", q.Failed, q.Finished), fmt.Sprintf("%d %%", alertFailures), "In queue %s %d of the last %d attempts failed", q.Name, q.Failed, q.Finished)
		}
	})
}

func (w *watch) stepsTop() {
	if w.cfg.Policy != PolicySteps {
		return
	}
	w.queues(func(q *QueueState) {
		if stepOf(*q) == stepMax {
			w.raise(q.Name, fmt.Sprintf("%d jobs, %s", q.Depth, minutes(q.Oldest)), "", "Queue %s is in the top row of policy steps: %d jobs, the oldest waiting for %s", q.Name, q.Depth, minutes(q.Oldest))
		}
	})
}

func (w *watch) drift() {
	w.queues(func(q *QueueState) {
		if ticks := w.snap.Memory.Drift[q.Name]; ticks >= alertDrift {
			w.raise(q.Name, fmt.Sprint(ticks), fmt.Sprint(alertDrift), "Redis and the database have disagreed about the depth of queue %s for %d ticks: the database says %d", q.Name, ticks, q.Rows)
		}
	})
}
