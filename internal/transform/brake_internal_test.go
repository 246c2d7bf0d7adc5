package transform

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestRefusalsAreSlowedDownByTheHundreds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBrake(2, time.Now())
		began := time.Now()
		for range 200 {
			b.hold(t.Context())
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("what a crowd causes at once was held for %s", waited)
		}
		b.hold(t.Context())
		if waited := time.Since(began); waited != holdFor {
			t.Errorf("held for %s, want %s", waited, holdFor)
		}
		began = time.Now()
		for range 100 { // half a second's worth has come back
			b.hold(t.Context())
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the rate that is free was held for %s", waited)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		b.hold(gone)
		if waited := time.Since(began); waited != 0 || b.held != 0 {
			t.Errorf("a client that left was held for %s, %d are", waited, b.held)
		}
	})
}
