package app

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/app/settings"
)

func TestAFileThatIsNoDatabaseIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.db")
	if err := os.WriteFile(file, bytes.Repeat([]byte("no database"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	var config settings.Config
	config.Database = "sqlite://" + file
	store, err := storeOpener(config, slog.New(slog.DiscardHandler))(t.Context())
	if err == nil || store != nil || !strings.Contains(err.Error(), file) {
		t.Errorf("opened %v, error = %v", store, err)
	}
}
