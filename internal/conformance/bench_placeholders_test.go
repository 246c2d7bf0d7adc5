package conformance_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// BenchmarkMakePlaceholders measures, interleaved in one run, the CPU time of a
// picture as JSON alone and with all placeholders beside it.
func BenchmarkMakePlaceholders(b *testing.B) {
	root := b.TempDir()
	put(b, root, "photo.jpg", testpictures.JPEG(testpictures.Photo(4000, 3000), 88))
	put(b, root, "small.jpg", testpictures.JPEG(testpictures.Photo(1200, 900), 88))
	s := start(b, withRoot(root), func(c *app.Config) { c.CacheMemory = 0 })
	for _, name := range []string{"photo.jpg", "small.jpg"} {
		for _, width := range []int{300, 1000} {
			b.Run(fmt.Sprintf("source=%s/width=%d", name, width), func(b *testing.B) {
				target := fmt.Sprintf("/assets/%s?sizes=%dx0&format=webp&encoder=json", name, width)
				s.good(b, target)
				var alone, beside time.Duration
				runs := 0
				for b.Loop() {
					alone += cpuOf(func() { s.good(b, target) })
					beside += cpuOf(func() { s.good(b, target+"&placeholders=blurhash,thumbhash,lqip,color") })
					runs++
				}
				b.ReportMetric(milliseconds(alone, runs), "alone-cpu-ms")
				b.ReportMetric(milliseconds(beside, runs), "beside-cpu-ms")
				b.ReportMetric(float64(beside)/float64(alone), "beside/alone")
			})
		}
	}
}
