package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/httpapi"
)

func TestAFileOfTokensStaysOneThatServersTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	add := func(name string) (code int, stderr string) {
		code, _, stderr = command(t, "token", name, "--append", path)
		return code, stderr
	}
	if code, stderr := add("one"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// An editor may leave the last line without its end.
	if err := os.WriteFile(path, []byte(strings.TrimSpace(string(content))), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stderr := add("two"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, stderr := add("one"); code != 1 || !strings.Contains(stderr, "the name one stands there twice") || !strings.Contains(stderr, "take another name") {
		t.Errorf("a name that is there: exit code %d, %s", code, stderr)
	}
	content, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if tokens, err := httpapi.ParseTokens(content); err != nil || len(tokens) != 2 {
		t.Errorf("%d tokens, %v in:\n%s", len(tokens), err, content)
	}
}
