package settings_test

import (
	"testing"

	"github.com/spillway-media/spillway/internal/app/settings"
)

func TestBytesReadsSizes(t *testing.T) {
	tests := []struct {
		name, text string
		want       settings.Bytes
	}{
		{"a plain number is bytes", "1048576", 1 << 20},
		{"binary units are powers of 1024", "64MiB", 64 << 20},
		{"decimal units are powers of 1000", "500MB", 500_000_000},
		{"case and spaces do not matter", " 2 gib ", 2 << 30},
		{"a fraction of a unit is allowed", "1.5GiB", 3 << 29},
		{"a unit may be a single letter b", "12b", 12},
		{"zero is a size", "0", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got settings.Bytes
			if err := got.UnmarshalText([]byte(test.text)); err != nil || got != test.want {
				t.Errorf("%q = %d, %v; want %d", test.text, got, err, test.want)
			}
		})
	}
}

func TestBytesRefusesWhatIsNoSize(t *testing.T) {
	for _, text := range []string{"", "many", "-1", "1e9", "0x10", "inf", "NaN", "1_000", "64QiB", "MiB", "99999999TiB", "1 2"} {
		t.Run("refuses "+text, func(t *testing.T) {
			var got settings.Bytes
			if err := got.UnmarshalText([]byte(text)); err == nil {
				t.Errorf("%q was read as %d", text, got)
			}
		})
	}
}

func TestShare(t *testing.T) {
	const memory = 10 << 30
	tests := []struct {
		name, text string
		want       int64
	}{
		{"a percentage is taken of the memory seen", "40%", 4 << 30},
		{"a size does not depend on the memory seen", "2GiB", 2 << 30},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var share settings.Share
			if err := share.UnmarshalText([]byte(test.text)); err != nil {
				t.Fatal(err)
			}
			if got := share.Of(memory); got != test.want || share.String() != test.text {
				t.Errorf("%s = %d as %q, want %d", test.text, got, share, test.want)
			}
		})
	}
	for _, text := range []string{"0%", "-5%", "91%", "x%", "", "%"} {
		t.Run("refuses "+text, func(t *testing.T) {
			var share settings.Share
			if err := share.UnmarshalText([]byte(text)); err == nil {
				t.Errorf("%q was read as %v", text, share)
			}
		})
	}
}

func FuzzBytesAreReadBackAsWritten(f *testing.F) {
	for _, seed := range []string{"64MiB", "1.5GB", "0", "12b", "9007199254740993", "-1", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var first, second settings.Bytes
		if first.UnmarshalText([]byte(text)) != nil {
			return
		}
		if first < 0 {
			t.Fatalf("%q became %d", text, first)
		}
		if err := second.UnmarshalText([]byte(first.String())); err != nil || (first < 1<<53 && first != second) {
			t.Fatalf("%q became %d, written %q, read back %d, %v", text, first, first, second, err)
		}
	})
}
