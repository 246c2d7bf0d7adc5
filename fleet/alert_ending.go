package fleet

import (
	"strings"
	"time"
)

// alertEnding is after what time a machine that has to go should be gone.
const alertEnding = 5 * time.Minute

// notEnded tells of machines that go on costing though their end was asked for,
// and of those that no row stands for: no limit holds while calls that end
// machines fail.
func (w *watch) notEnded() {
	for _, x := range w.snap.Workers {
		if over := w.at.Sub(x.TerminateAt); !x.TerminateAt.IsZero() && over > alertEnding && x.InstanceID != "" && !w.snap.gone(x) {
			w.raise(x.Provider+"/"+x.InstanceID, minutes(over), minutes(alertEnding), "Machine %s of %s costs up to %s an hour and has not ended, %s after that was asked for",
				x.InstanceID, x.Provider, max(x.Rate, x.Ceiling), minutes(over))
		}
	}
	for _, m := range w.snap.strays() {
		since := w.snap.Memory.Strays[m.Provider+"/"+m.ID].Since
		if over := w.at.Sub(since); !since.IsZero() && over > unlisted+alertEnding {
			w.raise(m.Provider+"/"+m.ID, minutes(over), minutes(unlisted+alertEnding), "Machine %s of %s belongs to no worker and has not ended, %s after it was seen",
				m.ID, m.Provider, minutes(over))
		}
	}
}

// unseenMachine is true for one whose provider or row could not be looked at.
func (w *watch) unseenMachine(subject string) bool {
	provider, _, _ := strings.Cut(subject, "/")
	return w.snap.faulty(sourceDatabase) || w.snap.faulty(sourceProvider+provider)
}
