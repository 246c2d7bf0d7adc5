package vips_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spillway-media/spillway/internal/vips"
)

// What a plan tells is what admission reserves: it must cover the peak, but for
// little, and not be so much more that pictures wait for nothing. With
// SPILLWAY_HEAVY all that BenchmarkEstimate prints is held to it.
func TestMemoryEstimatesCoverThePeak(t *testing.T) {
	const (
		slack = 4 << 20 // what an allocator may have in hand, whatever the plan
		spare = 1.08
	)
	most := 3.0
	sources := lightlyEstimated(t, t.TempDir())
	if os.Getenv("SPILLWAY_HEAVY") == "1" {
		sources, most = estimated(t, t.TempDir()), 4
	}
	for _, s := range sources {
		t.Run(s.name, func(t *testing.T) {
			for _, query := range s.queries {
				got := take(t, trial{s.file, query})
				if float64(got.Peak) > spare*float64(got.Memory)+slack {
					t.Errorf("%s took %d bytes, %d were told", query, got.Peak, got.Memory)
				}
				if float64(got.Memory) > most*float64(got.Peak)+2*slack {
					t.Errorf("%s took %d bytes, and %d were told", query, got.Peak, got.Memory)
				}
			}
		})
	}
}

// lightlyEstimated has a plan of each kind that was once told wrong.
func lightlyEstimated(tb testing.TB, dir string) []estimatedSource {
	tb.Helper()
	engine, err := vips.New(vips.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	base, moves := filepath.Join(dir, "base.png"), filepath.Join(dir, "moves.gif")
	for path, content := range map[string][]byte{
		base: pngOf(tb, feathered(grained(1200, 800))), moves: panned(tb, 300, 200, 20),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	photo, progressive := filepath.Join(dir, "photo.jpg"), filepath.Join(dir, "progressive.jpg")
	convertFile(tb, engine, base, "sizes=2400x1600&enlarge=true&format=jpeg", photo)
	convertFile(tb, engine, base, "sizes=2400x1600&enlarge=true&format=jpeg&progressive=true", progressive)
	return []estimatedSource{
		{"a photo", photo, []string{
			"format=webp", "rotate=90&format=jpeg", "sizes=800x0,400x0,200x0&format=webp", "sizes=400x400&fit=cover&gravity=attention&format=webp",
			"sizes=400x0&format=jxl&effort=9", "sizes=800x0&format=webp&lossless=true", "sizes=800x0&format=gif", "trim=10&sizes=400x0&format=jpeg",
		}},
		{"a progressive photo", progressive, []string{"sizes=300x0&format=webp"}},
		{"a picture with alpha", base, []string{"format=webp", "sizes=600x0&format=png"}},
		{"an animation", moves, []string{"format=webp", "sizes=150x0&format=gif", "rotate=90&format=webp"}},
	}
}
