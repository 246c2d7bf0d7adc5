package jobs_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

var _ jobs.Doorbell = (*jobs.ProcessBell)(nil)

const poll = time.Minute

// waits tells what Wait took and for how long it did.
func waits(ctx context.Context, bell jobs.Doorbell, queues ...string) (string, time.Duration) {
	start := time.Now()
	return bell.Wait(ctx, queues, poll), time.Since(start)
}

func TestProcessBellWakesWhoWaitsAndRemembersWhatNobodyHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bell := jobs.NewProcessBell()
		go func() {
			time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock, not the machine's
			bell.Ring(t.Context(), "images", 2)
		}()
		if queue, took := waits(t.Context(), bell, "bulk", "images"); queue != "images" || took != time.Second {
			t.Errorf("the first Wait took %q after %v, want images when it was rung", queue, took)
		}
		if queue, took := waits(t.Context(), bell, "images"); queue != "images" || took != 0 {
			t.Errorf("the second Wait took %q after %v, want the ring that was left", queue, took)
		}
		if queue, took := waits(t.Context(), bell, "images"); queue != "" || took < poll*3/4 || took > poll*5/4 {
			t.Errorf("the third Wait took %q after %v, want nothing after about %v", queue, took, poll)
		}
	})
}

func TestProcessBellWakesOnlyAsManyAsThereAreJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bell, ctx := jobs.NewProcessBell(), t.Context()
		var woken, slept atomic.Int32
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if bell.Wait(ctx, []string{"images"}, poll) == "images" {
					woken.Add(1)
				} else {
					slept.Add(1)
				}
			})
		}
		all.Go(func() { slept.Add(int32(len(bell.Wait(ctx, []string{"bulk"}, poll)))) })
		synctest.Wait()
		bell.Ring(ctx, "images", 3)
		synctest.Wait()
		if woken.Load() != 3 || slept.Load() != 0 {
			t.Errorf("%d waiters woke and %d gave up, want 3 and 0", woken.Load(), slept.Load())
		}
		all.Wait()
		if slept.Load() != 7 {
			t.Errorf("%d waiters heard nothing, want 7", slept.Load())
		}
	})
}

func TestProcessBellGivesTheRingOfALeavingWaiterToAnother(t *testing.T) {
	for range 200 { // the race is between the ring and the end of the context
		bell := jobs.NewProcessBell()
		ctx, cancel := context.WithCancel(t.Context())
		heard := make(chan string, 1)
		go func() { heard <- bell.Wait(ctx, []string{"images"}, poll) }()
		go cancel()
		bell.Ring(ctx, "images", 1)
		if <-heard == "" {
			if queue := bell.Wait(t.Context(), []string{"images"}, time.Nanosecond); queue != "images" {
				t.Fatalf("after the waiter left another heard %q, want images", queue)
			}
		}
	}
}

func TestProcessBellTook(t *testing.T) {
	for _, test := range []struct {
		name string
		rung int
		more map[string]int
		want string // what the next Wait of images hears
	}{
		{"an answered ring is forgotten", 3, map[string]int{"images": 3}, ""},
		{"more than was rung is no debt", 1, map[string]int{"images": 5}, ""},
		{"a ring that led to another queue's job stays open", 0, map[string]int{"images": -1, "bulk": 1}, "images"},
		{"a false ring is not repeated", 0, map[string]int{"images": -1}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bell := jobs.NewProcessBell()
				bell.Ring(t.Context(), "images", test.rung)
				bell.Took(t.Context(), test.more)
				if queue, _ := waits(t.Context(), bell, "images"); queue != test.want {
					t.Errorf("the next Wait heard %q, want %q", queue, test.want)
				}
				bell.Ring(t.Context(), "images", 1)
				if queue, _ := waits(t.Context(), bell, "images"); queue != "images" {
					t.Errorf("the ring after that was heard as %q, want images", queue)
				}
			})
		})
	}
}
