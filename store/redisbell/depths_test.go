package redisbell_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/internal/testservices"
	"github.com/spillway-media/spillway/store/redisbell"
)

var _ fleet.Depths = (*redisbell.Bell)(nil)

func TestDepthsAreTheLengthsOfTheLists(t *testing.T) {
	server := testservices.Redis(t)
	bell := patient(t, server.URL)
	bell.Ring(t.Context(), "images", 3)
	bell.Ring(t.Context(), "bulk", 1)
	got, err := bell.Depths(t.Context(), []string{"images", "ocr", "bulk"})
	if diff := cmp.Diff(map[string]int64{"images": 3, "ocr": 0, "bulk": 1}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := bell.Depths(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("of no queue: %v, %v", got, err)
	}
}

// "Unknown" is not 0: a scheduler would take that for an idle queue.
func TestReport26DepthsOfAServerThatIsAwayAreAnError(t *testing.T) {
	server := testservices.Redis(t)
	bell, _ := open(t, server.URL)
	if err := client(t, server.URL).Set(t.Context(), "queue:ocr", "no list", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := bell.Depths(t.Context(), []string{"images", "ocr"}); err == nil {
		t.Errorf("depths of what is no list are %v", got)
	}
	server.Kill()
	for range 5 { // also when the breaker is open
		if got, err := bell.Depths(t.Context(), []string{"images"}); err == nil || got != nil {
			t.Fatalf("depths are %v, and the error is %v", got, err)
		}
	}
	server.Restart()
	if got, err := bell.Depths(t.Context(), []string{"images"}); err != nil || got["images"] != 0 {
		t.Errorf("when it is back, depths are %v, and the error is %v", got, err)
	}
}
