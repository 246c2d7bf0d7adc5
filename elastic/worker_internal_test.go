package elastic

import (
	"context"
	"testing"
)

func TestAWakeUpThatARetiringWorkerGetsIsPassedOn(t *testing.T) {
	p, err := New(Config[int]{Handler: func(context.Context, int) error { return nil }, MinWorkers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.TrySubmit(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	leaving := &slot[int]{retire: make(chan struct{})}
	p.retire(leaving, p.now())
	<-p.wake // the select chose the job, although both were ready
	if e, leave := p.take(leaving, true); e != nil || !leave {
		t.Fatal("it took the job")
	}
	if len(p.wake) != 1 || p.queue.length != 1 {
		t.Fatal("nobody will be woken for the job it left")
	}
	staying := &slot[int]{retire: make(chan struct{})}
	<-p.wake
	if e, leave := p.take(staying, true); e == nil || leave {
		t.Error("the next worker did not get it")
	}
}
