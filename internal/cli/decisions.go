package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// showDecisions prints what a tick decided, one paragraph each, in the order in
// which it is carried out.
func showDecisions(w io.Writer, all []fleet.Decision) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "nothing was decided")
		return err
	}
	for i, d := range all {
		if i > 0 {
			_, _ = fmt.Fprintln(w)
		}
		if err := showDecision(w, d); err != nil {
			return err
		}
	}
	return nil
}

// showDecision prints one in full: what, why, what limited it, and what was
// not taken.
func showDecision(w io.Writer, d fleet.Decision) error {
	_, _ = fmt.Fprintf(w, "%s: %s\n", strings.Join(strings.Fields(string(d.Kind)+" "+shown(d.Queue)), " "), shown(d.Sentence))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, text string) {
		if text != "" {
			_, _ = fmt.Fprintf(table, "  %s\t%s\n", name, shown(text))
		}
	}
	row("decision", d.ID)
	row("rule", ruleText(d))
	row("inputs", factsText(d.Inputs))
	row("workers", workersText(d))
	row("worker", d.WorkerID)
	row("instance", d.MachineID)
	if d.Within > 0 {
		row("within", d.Within.String())
	}
	showLaunch(row, d.Launch)
	for _, r := range d.Rejected {
		row("rejected", r.What+": "+r.Reason)
	}
	for _, a := range d.Attempts {
		row("tried", attemptText(a))
	}
	if d.Alert != nil {
		row("alert", fmt.Sprintf("%s, %s: %s", d.Alert.Level, d.Alert.Name, d.Alert.Sentence))
	}
	row("outcome", d.Outcome)
	return table.Flush()
}

func ruleText(d fleet.Decision) string {
	if d.Origin == fleet.OriginManual {
		return d.Rule + ", asked for by an operator"
	}
	return d.Rule
}

func factsText(facts []fleet.Fact) string {
	parts := make([]string, len(facts))
	for i, f := range facts {
		parts[i] = f.Name + "=" + f.Value
	}
	return strings.Join(parts, ", ")
}

// workersText is empty where a decision is about no number of workers.
func workersText(d fleet.Decision) string {
	switch {
	case d.Origin == fleet.OriginManual && d.Kind == fleet.KindHold: // a refusal, whose sentence says why
	case d.Limit != "":
		return fmt.Sprintf("%d wanted, %d allowed by %s", d.Wanted, d.Allowed, d.Limit)
	case d.Wanted != 0 || d.Allowed != 0:
		return fmt.Sprintf("%d wanted, %d allowed", d.Wanted, d.Allowed)
	}
	return ""
}

// showLaunch tells what would be launched, and what is tried when there is no
// capacity; the prices of those stand among what was rejected.
func showLaunch(row func(name, text string), l *fleet.Launch) {
	if l == nil {
		return
	}
	var others []string
	for i, c := range l.Candidates {
		if i == 0 {
			row("machine", candidateText(c))
		} else {
			others = append(others, c.String())
		}
	}
	row("else", strings.Join(others, "; "))
	if l.KeepFor > 0 {
		row("kept for", l.KeepFor.String())
	}
}

func candidateText(c fleet.Candidate) string {
	text := fmt.Sprintf("%s: %s an hour", c.Place, c.Price)
	if c.Ceiling > c.Price {
		text += fmt.Sprintf(", at most %s", c.Ceiling)
	}
	if c.Surcharge > 0 {
		text += fmt.Sprintf(", and %s for disks and addresses", c.Surcharge)
	}
	if c.Source != "" {
		text += fmt.Sprintf(" (price: %s)", c.Source)
	}
	return text
}

func attemptText(a fleet.Attempt) string {
	text := fmt.Sprintf("%s: %s", a.Place, a.Outcome)
	if a.Reason != "" {
		text += ", " + a.Reason
	}
	return text
}

// lineOf is a decision in a list.
func lineOf(d fleet.Decision) string {
	what := strings.Join(strings.Fields(string(d.Kind)+" "+d.Queue+" "+d.WorkerID), " ")
	text := fmt.Sprintf("%s\t%s\t%s\t%s", d.At.Local().Format(time.DateTime), d.ID, shown(what), shown(d.Sentence))
	if d.Failed {
		text += " (" + shown(d.Outcome) + ")"
	}
	return text
}
