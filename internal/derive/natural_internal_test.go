package derive

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNaturalOrder(t *testing.T) {
	want := []string{
		"", "a", "a1", "a01", "a2", "a02b", "a10", "a10b2", "a10b10", "a18446744073709551616", "a99999999999999999999", "aB", "ab", "b", "b/1.jpg", "b/2.jpg", "b/10.jpg",
	}
	// Equal but for zeros: by their bytes.
	want[2], want[3] = "a01", "a1"
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, natural)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzNaturalIsAnOrder(f *testing.F) {
	f.Add("a1", "a01", "a10")
	f.Add("a", "a0", "a00b")
	f.Add("1a", "01", "1")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if natural(a, b) != -natural(b, a) || (natural(a, b) == 0) != (a == b) {
			t.Errorf("%q and %q: %d and %d", a, b, natural(a, b), natural(b, a))
		}
		if natural(a, b) <= 0 && natural(b, c) <= 0 && natural(a, c) > 0 {
			t.Errorf("%q, %q, %q go in a circle", a, b, c)
		}
	})
}
