package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/app/settings"
)

func TestGapsInSettingsAreToldAtTheStart(t *testing.T) {
	tests := []struct {
		name                        string
		role                        Role
		root, allow, database, blob string
		told                        string // "" is nothing
	}{
		{"a server without sources", Serve, "", "", "", "", "nothing to serve"},
		{"a worker without sources", Work, "", "", "postgres://db/jobs", "s3://b", "jobs find no originals"},
		{"allowed hosts are sources", Serve, "", "img.example.com", "", "", ""},
		{"several machines without one place for blobs", Work, "/srv", "", "postgres://db/jobs", "", "blobs lie in a folder of this process"},
		{"a place for blobs", Serve, "/srv", "", "postgres://db/jobs", "/shared", ""},
		{"one machine", Up, "/srv", "", "sqlite:///srv/jobs.db", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var c settings.Config
			c.SourceRoot, c.Database, c.Blob = test.root, test.database, test.blob
			if test.allow != "" {
				c.AllowSource = []string{test.allow}
			}
			var told bytes.Buffer
			warnOfGaps(c, test.role, slog.New(slog.NewTextHandler(&told, nil)))
			if text := told.String(); !strings.Contains(text, test.told) || (text == "") != (test.told == "") {
				t.Errorf("told %q, want %q", text, test.told)
			}
		})
	}
}
