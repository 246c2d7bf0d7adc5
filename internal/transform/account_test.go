package transform_test

import (
	"testing"
	"testing/synctest"

	"github.com/spillway-media/spillway/internal/transform"
)

// mustOweNothing fails when a service without work has something on account.
func mustOweNothing(t *testing.T, s *transform.Service) {
	t.Helper()
	synctest.Wait()
	if debts := s.Debts(); len(debts) > 0 {
		t.Errorf("nothing is to be done, but there is %q", debts)
	}
}

func TestEveryAccountIsEvenInTheEnd(t *testing.T) {
	t.Run("sizes that join before their turn is asked for are counted once", inBubble(func(t *testing.T) {
		b, g := newGated(t, nil)
		close(g.let)
		results, err := b.DoAll(t.Context(), []transform.Job{wide(200), wide(100), wide(50)})
		if err != nil {
			t.Fatal(err)
		}
		for _, res := range results {
			res.Close()
		}
		mustOweNothing(t, b.Service)
	}))
}
