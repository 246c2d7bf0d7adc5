package redisbell_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/testservices"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/jobs/jobstest"
)

func TestAKeeperMakesTheDepthsRightWhateverBecameOfRedis(t *testing.T) {
	server := testservices.Redis(t)
	store, c := jobstest.NewStore(time.Now), client(t, server.URL)
	bell, _ := open(t, server.URL)
	kinds := jobs.NewKinds(jobs.Kind{Type: "image.derive", Queue: "images", Priority: 5})
	specs := slices.Repeat([]jobs.Spec{{Type: "image.derive"}}, 37)
	if _, err := jobs.NewClient(store, bell, kinds).Enqueue(t.Context(), specs...); err != nil {
		t.Fatal(err)
	}
	keeper, err := jobs.NewKeeper(jobs.KeeperConfig{Reconcile: 20 * time.Millisecond, Queues: []string{"bulk"}}, store, bell, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- keeper.Run(ctx) }()
	defer func() { cancel(); <-done }()
	right := func() bool {
		images, err := c.LLen(t.Context(), "queue:images").Result()
		return err == nil && images == 37 && c.LLen(t.Context(), "queue:bulk").Val() == 0
	}
	eventually(t, "LLEN is 37 at first", right)
	for _, damage := range []struct {
		name string
		do   func() error
	}{
		{"flushed", func() error { return c.FlushAll(t.Context()).Err() }},
		{"restarted empty", func() error { server.Restart(); return nil }},
		{"given another kind of key", func() error { return c.Set(t.Context(), "queue:images", "x", 0).Err() }},
		{"given another kind of key for claims ahead", func() error {
			c.LPush(t.Context(), "early:images", "x")
			return c.Del(t.Context(), "queue:images").Err()
		}},
		{"given tokens by a stranger", func() error {
			c.RPush(t.Context(), "queue:images", "x", "y")
			return c.RPush(t.Context(), "queue:bulk", "x").Err()
		}},
	} {
		if err := damage.do(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "LLEN is right after redis was "+damage.name, right)
	}
}
