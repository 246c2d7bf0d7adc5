package main

import (
	"fmt"
	"io"
	"time"
)

// results are all that one run has found out.
type results struct {
	cores                 int
	began                 time.Time
	took                  time.Duration
	loadBefore, loadAfter string
	ladders               []*ladder
	handoffs              []handoff
	lost                  int64
}

func (r *results) write(w io.Writer) {
	fmt.Fprintf(w, "%s, %s; the run took %s; load average %s before, %s after.\n",
		machineName(r.cores), r.began.Format("2 January 2006, 15:04 MST"), r.took.Round(time.Second), r.loadBefore, r.loadAfter)
	for _, l := range r.ladders {
		l.table(w)
	}
	handoffTable(w, r.handoffs)
}
