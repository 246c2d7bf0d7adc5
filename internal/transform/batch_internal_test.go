package transform

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
)

// idle is a service that nobody runs and that takes no new work.
func idle(t *testing.T) *Service {
	t.Helper()
	s, err := New(DefaultConfig(2, 1<<30), nil, nil, nil, Stores{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.closing.Store(true)
	return s
}

// ready is a flight as it is when its plan is made, held by one.
func ready(t *testing.T, s *Service, width int) *flight {
	t.Helper()
	request := media.NewRequest()
	request.Sizes = []media.Size{{Width: width}}
	info := media.Info{Format: media.JPEG, Width: 400, Height: 300, Orientation: 1, Frames: 1, Bands: 3, BitDepth: 8, Colourspace: "srgb"}
	all := map[media.Format]bool{media.JPEG: true}
	plan, err := media.NewPlan(info, request, media.JPEG, media.Abilities{Read: all, Write: all}, s.cfg.Limits)
	if err != nil {
		t.Fatal(err)
	}
	f := &flight{
		key: fmt.Sprint(width), job: Job{Request: request}, plan: plan,
		wanted: 1, holders: 1, ready: make(chan struct{}),
	}
	f.ctx, f.cancel = context.WithCancelCause(t.Context())
	return f
}

// Whoever joins a batch does so on a goroutine of its own, which may be slower
// than the refusal of the batch.
func TestABatchMayBeRefusedBeforeWhoJoinedItKnows(t *testing.T) {
	s := idle(t)
	first, second := ready(t, s, 100), ready(t, s, 200)
	b, _ := s.batches.add(s, first)
	if _, fresh := s.batches.add(s, second); fresh {
		t.Fatal("the second did not join")
	}
	s.travel(b)
	second.settle(nil)
	if err := second.arrival(t.Context()); !errors.Is(err, errStopping) {
		t.Errorf("the second was told %v", err)
	}
}

// A turn may be given up while a worker weighs it.
func TestEachFlightIsEndedOnce(t *testing.T) {
	for range 200 {
		s := idle(t)
		var b *batch
		var flights []*flight
		for i := range 6 {
			flights = append(flights, ready(t, s, 100+i))
			b, _ = s.batches.add(s, flights[i])
		}
		for _, f := range flights[:3] {
			f.cancel(errLeft)
		}
		var both sync.WaitGroup
		both.Go(func() { _, _ = b.weigh() })
		both.Go(func() { s.travel(b) })
		both.Wait()
		if failed := s.counts.snapshot(); failed[media.CodeCancelled]+failed[media.CodeOverloaded] != 6 {
			t.Fatalf("six flights have the ends %v", failed)
		}
	}
}

func TestABatchThatIsGivenUpIsNotJoined(t *testing.T) {
	s := idle(t)
	b, _ := s.batches.add(s, ready(t, s, 100))
	b.turn.state.Store(gone)
	if _, fresh := s.batches.add(s, ready(t, s, 200)); !fresh {
		t.Error("it was joined")
	}
}
