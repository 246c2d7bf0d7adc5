package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

const (
	// clearFor is how long a condition must be gone before it is resolved, so
	// that one which comes and goes is told once.
	clearFor = 5 * time.Minute
	// mostNotices bounds what one tick sends; the rest is due at the next.
	mostNotices = 50
	// defaultQuiet is for settings that were not made by Parse.
	defaultQuiet = time.Hour
)

// alert raises, repeats and resolves notices of conditions, and tells what
// happened at the tick before. It comes last: what this tick decided counts.
func (d *deciding) alert() {
	states, found := watched(d.now, d.cfg, d.snap, d.out)
	var due []Notice
	for _, key := range sortedKeys(states) {
		if n, ok := dueNotice(d.now, d.cfg, key, states[key], found[key]); ok {
			due = append(due, n)
		}
	}
	due = append(due, d.snap.Memory.Events...)
	slices.SortStableFunc(due, func(a, b Notice) int { return cmp.Compare(rank(a.Level), rank(b.Level)) })
	for _, n := range due[:min(len(due), mostNotices)] {
		sentence := n.Sentence
		if f := found[n.Key]; f != nil && f.brief != "" && !n.Resolved {
			sentence = f.brief
		}
		d.add(Decision{Kind: KindAlert, Queue: n.Queue, WorkerID: n.WorkerID, Rule: "alert." + n.Name, Sentence: sentence, Inputs: inputsOf(n), Alert: &n})
	}
}

// rank puts the gravest first.
func rank(l Level) int { return slices.Index([]Level{Critical, Warning, Info}, l) }

func inputsOf(n Notice) []Fact {
	switch {
	case n.Value == "":
		return nil
	case n.Threshold == "":
		return []Fact{{Name: "value", Value: n.Value}}
	}
	return []Fact{{Name: "value", Value: n.Value}, {Name: "threshold", Value: n.Threshold}}
}

// dueNotice is what a condition has to say now, if anything.
func dueNotice(now time.Time, cfg Config, key string, c Condition, f *finding) (Notice, bool) {
	rule, subject := ruleOf(key)
	switch {
	case !c.Clear.IsZero():
		if c.Sent.IsZero() || now.Sub(c.Clear) < clearFor {
			return Notice{}, false
		}
		n := rule.notice(now, key, subject, c)
		n.Resolved = true
		n.Sentence = fmt.Sprintf("Resolved after %s: %s", minutes(c.Clear.Sub(c.Since)), rule.title(subject))
		return n, true
	case f == nil || c.Fired.IsZero():
		return Notice{}, false
	case !c.Sent.IsZero() && now.Sub(c.Sent) < cmp.Or(cfg.Alerts.Quiet, defaultQuiet):
		return Notice{}, false
	}
	n := rule.notice(now, key, subject, c)
	n.Sentence, n.Value, n.Threshold = f.sentence, f.value, f.threshold
	return n, true
}

// rememberAlerts moves the conditions on, and forgets what has been told.
func (m *Memory) rememberAlerts(now time.Time, cfg Config, snap Snapshot, done []Decision) {
	m.Alerts, _ = watched(now, cfg, snap, done)
	told := map[string]bool{}
	for _, x := range done {
		if x.Kind == KindAlert && x.Alert != nil && !x.Failed {
			m.tell(now, *x.Alert)
			told[x.Alert.Key] = true
		}
	}
	for key, c := range m.Alerts {
		if !c.Clear.IsZero() && c.Sent.IsZero() {
			delete(m.Alerts, key) // nobody was told that it began
		}
	}
	m.rememberEvents(now, snap, done, told)
}

func (m *Memory) tell(now time.Time, n Notice) {
	c, ok := m.Alerts[n.Key]
	switch {
	case !ok:
	case n.Resolved:
		delete(m.Alerts, n.Key)
	default:
		c.Sent = now
		m.Alerts[n.Key] = c
	}
}

// watched is the state of every condition after this look. What could not be
// seen keeps the state that it had: not known is neither good nor bad.
func watched(now time.Time, cfg Config, snap Snapshot, decided []Decision) (map[string]Condition, map[string]*finding) {
	states, found := copied(snap.Memory.Alerts), map[string]*finding{}
	look := &watch{now: now, at: snap.At, cfg: cfg, snap: snap, decided: decided, found: found}
	if look.at.IsZero() {
		look.at = now
	}
	for i := range alertRules {
		look.rule = &alertRules[i]
		look.find()
	}
	for key, c := range states {
		if found[key] == nil && !look.unseen(key) {
			states[key] = c.over(now)
			if c.Fired.IsZero() {
				delete(states, key)
			}
		}
	}
	for key := range found {
		rule, _ := ruleOf(key)
		states[key] = states[key].holds(now, rule.after)
	}
	return states, found
}

func (c Condition) over(now time.Time) Condition {
	if c.Clear.IsZero() {
		c.Clear = now
	}
	return c
}

func (c Condition) holds(now time.Time, after time.Duration) Condition {
	c.Clear = time.Time{}
	if c.Since.IsZero() {
		c.Since = now
	}
	if c.Fired.IsZero() && now.Sub(c.Since) >= after {
		c.Fired = now
	}
	return c
}

// minutes says a length of time in words.
func minutes(d time.Duration) string {
	switch n := int(d.Round(time.Minute) / time.Minute); n {
	case 0:
		return fmt.Sprintf("%d seconds", int(d/time.Second))
	case 1:
		return "1 minute"
	default:
		return fmt.Sprintf("%d minutes", n)
	}
}
