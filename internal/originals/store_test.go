package originals_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/spillway-media/spillway/internal/originals"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
)

type plainOrigin struct {
	asked atomic.Int64
	gate  chan struct{}
}

func (p *plainOrigin) Open(ctx context.Context, ref string) (*source.Object, error) {
	p.asked.Add(1)
	select {
	case <-p.gate:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return &source.Object{Meta: source.Meta{Size: -1}, Body: io.NopCloser(strings.NewReader("bytes of " + ref))}, nil
}

func TestManyOpensAreOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, err := spool.NewPool(spool.Config{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		origin := &plainOrigin{gate: make(chan struct{})}
		store, err := originals.New(originals.Config{}, origin, pool, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				o, err := store.Open(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				defer o.Close()
				if err := o.Load(t.Context()); err != nil {
					t.Error(err)
				}
				if got := string(o.Bytes()); got != "bytes of a" {
					t.Errorf("got %q", got)
				}
			})
		}
		synctest.Wait()
		close(origin.gate)
		all.Wait()
		if n := origin.asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
		synctest.Wait()
		if st := pool.Stats(); st.Open != 0 {
			t.Errorf("%d spools are left", st.Open)
		}
		if st := store.Stats(); st.Fetches != 0 {
			t.Errorf("%d fetches are left", st.Fetches)
		}
	})
}
