// Package browsertest gives a test a browser of its own.
//
// Start here, and read package browser for what a browser can do.
// State: none; the test owns the browser, and its end closes it.
// Start blocks until Chromium answers, the end of the test until it is gone.
// It never skips: where there is no Chromium, the test fails.
// Limits: those of package browser.
package browsertest

import (
	"testing"

	"github.com/spillway-media/spillway/internal/browser"
)

// Start starts a browser, which ends with the test.
func Start(t testing.TB, o browser.Options) *browser.Browser {
	t.Helper()
	b, err := browser.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}
