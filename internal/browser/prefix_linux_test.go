package browser_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/browser"
)

// A browser runs where its prefix puts it, here in a network without anything,
// and leaves neither process nor profile behind.
func TestABrowserInAnotherPlaceLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b, err := browser.Start(t.Context(), browser.Options{Prefix: []string{"unshare", "--user", "--map-root-user", "--net"}})
	if err != nil {
		t.Fatal(err)
	}
	if found := running(t); len(found) == 0 {
		t.Error("its processes are not found while it runs")
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	err = open(t, b).Navigate(t.Context(), server.URL)
	if err == nil || !strings.Contains(err.Error(), "net::ERR_") {
		t.Errorf("it reached the network outside: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if found := running(t); len(found) > 0 {
		t.Errorf("it left processes: %q", found)
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "spillway-browser-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("it left folders: %q, %v", left, err)
	}
}

// running are the commands that name a profile in this test's own folder.
func running(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), "--user-data-dir="+os.Getenv("TMPDIR")+"/spillway-browser-") {
			found = append(found, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}
