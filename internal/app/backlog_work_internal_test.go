package app

import "testing"

func TestAQueueThatIsProbablyMisspeltIsNamed(t *testing.T) {
	for queue, want := range map[string]string{
		"images": "", "bulk": "", "nightly": "", "tenant-7": "", "image": "images", "imgaes": "images", "documnets": "documents", "blk": "bulk",
	} {
		if got := misspelt(queue); got != want {
			t.Errorf("%s: %q, want %q", queue, got, want)
		}
	}
}
