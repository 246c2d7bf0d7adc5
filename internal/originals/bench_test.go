package originals_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/originals"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
)

// BenchmarkOpenOriginal is what an original costs that is in memory: nothing
// asked, or an origin that answers at once.
func BenchmarkOpenOriginal(b *testing.B) {
	for name, life := range map[string]source.Life{"fresh": fresh(time.Hour), "unchanged": says()} {
		b.Run("state="+name, func(b *testing.B) {
			pool, err := spool.NewPool(spool.Config{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			o := newOrigin(map[string]page{"a": {data: "bytes", etag: `"1"`, life: life}})
			store, err := originals.New(originals.Config{Memory: 1 << 20}, o, pool, nil, slog.New(slog.DiscardHandler))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					got, err := store.Open(b.Context(), "a")
					if err != nil {
						b.Fatal(err)
					}
					if err := got.Load(b.Context()); err != nil {
						b.Fatal(err)
					}
					got.Close()
				}
			})
		})
	}
}
