package settings_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/app/settings"
)

// setting finds one by its key.
func setting(t *testing.T, key string) settings.Setting {
	t.Helper()
	for _, s := range settings.All() {
		if s.Key == key {
			return s
		}
	}
	t.Fatalf("there is no setting %q", key)
	return settings.Setting{}
}

func TestNoPasswordIsShown(t *testing.T) {
	tests := []struct {
		name, key, value, want string
	}{
		{"one in the user part", "database", "postgres://me:hunter2@db/jobs", "postgres://me:xxxxx@db/jobs"},
		{"one among the parameters", "database", "postgres://db/jobs?password=hunter2&sslmode=disable", "postgres://db/jobs?password=xxxxx&sslmode=disable"},
		{"one of a key", "database", "postgres://db/jobs?sslpassword=hunter2", "postgres://db/jobs?sslpassword=xxxxx"},
		{"one that breaks the address", "database", "postgres://me:hunter2%zz@db/jobs", "(set, not shown)"},
		{"one of Redis", "redis", "redis://:hunter2@cache:6379/0", "redis://:xxxxx@cache:6379/0"},
		{"an address without one is shown whole", "database", "postgres://me@db/jobs?sslmode=disable", "postgres://me@db/jobs?sslmode=disable"},
		{"a file is shown whole", "database", "sqlite:///srv/jobs.db", "sqlite:///srv/jobs.db"},
		{"nothing stays nothing", "redis", "", ""},
		{"a key is not shown at all", "webhook-key", "hunter2hunter2hunter2", "(set, not shown)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config := settings.Defaults()
			config.Database, config.Redis, config.WebhookKey = test.value, test.value, test.value
			if got := setting(t, test.key).Shown(config); got != test.want {
				t.Errorf("shown is %q, want %q", got, test.want)
			}
		})
	}
}

func TestFaultsNeverTellAPassword(t *testing.T) {
	for _, address := range []string{
		"postgres://me:hunter2%zz@db/jobs", "mysql://me:hunter2@db/jobs", "host=db password=hunter2", "hunter2", "postgres://[hunter2",
	} {
		t.Run("in "+address, func(t *testing.T) {
			config := settings.Defaults()
			config.Database, config.Redis, config.WebhookKey = address, address, "hunter2"
			err := config.Validate()
			for _, key := range []string{"database: ", "redis: ", "webhook-key: "} {
				if err == nil || !strings.Contains(err.Error(), key) {
					t.Errorf("faults %v do not name %q", err, key)
				}
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("faults tell the password: %v", err)
			}
		})
	}
}

func TestAddressesThatAreTaken(t *testing.T) {
	for _, address := range []string{"sqlite:///srv/jobs.db", "sqlite://data/jobs.db", "postgres://db/jobs", "postgresql:///jobs?host=/run/postgresql"} {
		t.Run(address, func(t *testing.T) {
			config := settings.Defaults()
			config.Database = address
			if err := config.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhereJobsLieUnlessToldOtherwise(t *testing.T) {
	config := settings.Defaults()
	config.Data = "own"
	config.Database = config.OwnDatabase()
	got := []string{config.SQLiteFile(), config.Blobs(), config.OwnToken()}
	want := []string{filepath.Join("own", "jobs.db"), filepath.Join("own", "blobs"), filepath.Join("own", "api-token")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths differ (-want +got):\n%s", diff)
	}
	config.Database, config.Blob = "postgres://db/jobs", "s3://bucket"
	if config.SQLiteFile() != "" || config.Blobs() != "s3://bucket" {
		t.Errorf("file %q, blobs %q", config.SQLiteFile(), config.Blobs())
	}
}

func TestAWorkerTakesAllQueuesUnlessToldOtherwise(t *testing.T) {
	if diff := cmp.Diff([]string{"images", "documents", "ocr", "media", "bulk"}, settings.Working{}.WorkedOn()); diff != "" {
		t.Errorf("queues differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"own"}, settings.Working{Queues: []string{"own"}}.WorkedOn()); diff != "" {
		t.Errorf("queues differ (-want +got):\n%s", diff)
	}
}
