package main

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spillway-media/spillway/bench/h2/visitor"
)

func TestTimingsAreThoseOfTheLastPictureAndIndexIsTheirMean(t *testing.T) {
	began := time.Unix(1e9, 0)
	answer := func(tenths ...int) *visitor.Answer {
		a := &visitor.Answer{}
		for _, n := range tenths {
			a.Marks = append(a.Marks, began.Add(time.Duration(n)*100*time.Millisecond))
		}
		return a
	}
	got := timingOf(began, []*visitor.Answer{answer(1, 2, 3, 4), answer(2, 4, 8, 10)})
	want := timing{headers: 0.2, previews: 0.4, good: 0.8, complete: 1, mean: 0.7, index: (0.25 + 0.58) / 2}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(timing{}), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("timing (-want +got):\n%s", diff)
	}
	w := way{loads: []timing{{index: 3}, {index: 1}, {index: 2}}}
	if got := w.median().index; math.Abs(got-2) > 1e-9 {
		t.Errorf("median = %g, want 2", got)
	}
}
