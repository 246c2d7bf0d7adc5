package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

func TestPoolsTellWhyTheyGrewAndWhatStoppedThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil) // two slots
		b.engine.run = func(ctx context.Context, _ *media.Plan, _ transform.Begin) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		ctx, leave := context.WithCancel(t.Context())
		for i := range 5 {
			go func() {
				j := transform.Job{Ref: "a.jpg", Request: media.NewRequest()}
				j.Request.Sizes = []media.Size{{Width: i + 1}}
				j.Request.Trim = 1 // so that no two of them are one piece of work
				if res, err := b.images.Do(ctx, j); err == nil {
					res.Close()
				}
			}()
		}
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock, not the machine's
		var told struct {
			Pools []struct {
				Name      string
				Queued    int
				Workers   struct{ Live, Busy, Min, Max int }
				Gate      struct{ Slots, Running int }
				Decisions []struct{ Action, Reason, Limit, Stopped string }
			}
		}
		res := ask(b.Admin(), http.MethodGet, "/debug/pools")
		if err := json.Unmarshal([]byte(body(t, res)), &told); err != nil || len(told.Pools) != 3 {
			t.Fatalf("%d pools, %v", len(told.Pools), err)
		}
		p := told.Pools[0]
		if p.Name != "images" || p.Workers.Live != 2 || p.Workers.Busy != 2 || p.Workers.Min != 1 || p.Workers.Max != 3 || p.Queued != 3 {
			t.Errorf("pool %+v", p)
		}
		if p.Gate.Slots != 2 || p.Gate.Running != 2 {
			t.Errorf("gate %+v", p.Gate)
		}
		seen := map[string]bool{}
		for _, d := range p.Decisions {
			seen[d.Action+" "+d.Limit] = d.Reason != "" && (d.Limit == "" || d.Stopped != "")
		}
		if !seen["grow "] || !seen["grow gate-cpu"] {
			t.Errorf("decisions %+v", p.Decisions)
		}
		leave()
		synctest.Wait()
	})
}
