package app

import (
	"runtime"
	"testing"
)

func TestPicturesAtWorkTakeNoPlaceFromTheRest(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	t.Setenv("GOMAXPROCS", "")
	for _, c := range []struct {
		name              string
		have, cores, jobs int
		want              int
	}{
		{"a place for each is added", 2, 2, 3, 5},
		{"a second server of the process adds none", 5, 2, 3, 5},
		{"more than that is left", 9, 2, 3, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			runtime.GOMAXPROCS(c.have)
			spareProcessors(c.cores, c.jobs)
			if got := runtime.GOMAXPROCS(0); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
	t.Run("what the environment says is left", func(t *testing.T) {
		t.Setenv("GOMAXPROCS", "1")
		runtime.GOMAXPROCS(1)
		spareProcessors(2, 3)
		if got := runtime.GOMAXPROCS(0); got != 1 {
			t.Errorf("got %d", got)
		}
	})
}
