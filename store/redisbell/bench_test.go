package redisbell_test

import (
	"fmt"
	"testing"

	"github.com/spillway-media/spillway/internal/testservices"
)

// BenchmarkRepair is the cost of the reconciler in Redis: five queues, each of
// which is wrong by drift tokens, in turn missing and surplus.
func BenchmarkRepair(b *testing.B) {
	for _, drift := range []int64{0, 1_000, 100_000} {
		b.Run(fmt.Sprintf("queues=5/drift=%d", drift), func(b *testing.B) {
			bell, _ := open(b, testservices.Redis(b).URL)
			depths := map[string]int64{"images": 10, "documents": 10, "ocr": 10, "media": 10, "bulk": 10}
			add := drift
			for b.Loop() {
				for queue := range depths {
					depths[queue] += add
				}
				if _, err := bell.Repair(b.Context(), depths); err != nil {
					b.Fatal(err)
				}
				add = -add
			}
		})
	}
}

// BenchmarkRing is what a doorbell adds to an enqueue.
func BenchmarkRing(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) {
			bell, _ := open(b, testservices.Redis(b).URL)
			for b.Loop() {
				bell.Ring(b.Context(), "images", n)
			}
		})
	}
	b.Run("away", func(b *testing.B) {
		server := testservices.Redis(b)
		bell, _ := open(b, server.URL)
		server.Kill()
		for b.Loop() {
			bell.Ring(b.Context(), "images", 1)
		}
	})
}
