package vips_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/vips"
)

func TestAbilitiesAreThoseOfTheLinkedLibrary(t *testing.T) {
	can := start(t).Abilities()
	for _, format := range []media.Format{media.JPEG, media.PNG, media.WebP, media.GIF, media.TIFF} {
		if !can.Read[format] || !can.Write[format] {
			t.Errorf("%s: read %v, write %v", format, can.Read[format], can.Write[format])
		}
	}
	for _, format := range []media.Format{media.BMP, media.SVG, media.HEIC, media.AVIF} {
		if !can.Read[format] {
			t.Errorf("%s is not read", format)
		}
	}
	for format, can := range can.Write {
		if can && !format.IsOutput() {
			t.Errorf("%s is no output, but said to be written", format)
		}
	}
	if can.Read[media.PDF] {
		t.Error("PDF is read without being allowed")
	}
	again, err := vips.New(vips.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(can, again.Abilities()); diff != "" {
		t.Errorf("a second engine has others: %s", diff)
	}
}

func TestVersionIsThatOfLibvips(t *testing.T) {
	start(t)
	if v := vips.Version(); !strings.HasPrefix(v, "8.") {
		t.Errorf("version is %q", v)
	}
}

// Debian's libvips has the fault, so this is about our function being the one
// that it calls.
func TestThreadsOfLibvipsDoNotLeave(t *testing.T) {
	start(t).Abilities()
	if !vips.ThreadsAreSafe() {
		t.Errorf("libvips %s waits by its own function", vips.Version())
	}
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	for _, threads := range []int{-1, 65} {
		cfg := vips.Config{ConcurrencyPerJob: threads}
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "vips-concurrency") {
			t.Errorf("%d threads: %v", threads, err)
		}
		if _, err := vips.New(cfg); err == nil {
			t.Errorf("%d threads are taken", threads)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	start(b)
	for b.Loop() {
		if _, err := vips.New(vips.Config{}); err != nil {
			b.Fatal(err)
		}
	}
}
