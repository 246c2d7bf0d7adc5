package media_test

import (
	"testing"

	"github.com/spillway-media/spillway/internal/media"
)

func TestNearest(t *testing.T) {
	known := []string{"data", "crop", "page", "fit", "format", "quality", "listen", "sizes"}
	tests := []struct{ name, word, want string }{
		{"a letter left out", "sizs", "sizes"},
		{"a letter too many", "quallity", "quality"},
		{"another letter", "qualiti", "quality"},
		{"two letters swapped count once", "litsen", "listen"},
		{"a short word may differ in one letter", "fot", "fit"},
		{"a short word that differs in two is another word", "hat", ""},
		{"a word that differs in half of it is another word", "frobs", ""},
		{"a long word has no short one near it", "image_url", ""},
		{"a letter alone stands for nothing", "z", ""},
		{"nothing stands for nothing", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := media.Nearest(test.word, known); got != test.want {
				t.Errorf("nearest to %q is %q, want %q", test.word, got, test.want)
			}
		})
	}
}
