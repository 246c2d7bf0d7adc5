package app

import (
	"slices"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/app/settings"
)

func TestAWorkerProcessIsToldWhatItNeedsAndNoMore(t *testing.T) {
	c := settings.Defaults()
	c.Database, c.SourceRoot, c.AllowSource = "postgres://u:word@db/jobs", "/pictures", []string{"a.example", "b.example"}
	c.S3AccessKey, c.S3SecretKey, c.WebhookKey, c.APITokenFile, c.SchedulerConfig = "id", "s3-word", "hook-word", "/tokens", "/scheduler.json"
	c.Listen, c.AdminListen, c.WorkerID, c.Queues, c.File = "0.0.0.0:80", "0.0.0.0:81", "own", []string{"ocr"}, "/etc/spillway.toml"
	env := workerEnvironment([]string{"PATH=/bin", "SPILLWAY_LISTEN=x", "SPILLWAY_WEBHOOK_KEY=hook-word", "AWS_REGION=eu"}, c)
	for _, want := range []string{
		"PATH=/bin", "AWS_REGION=eu", "SPILLWAY_DATABASE=postgres://u:word@db/jobs", "SPILLWAY_SOURCE_ROOT=/pictures",
		"SPILLWAY_ALLOW_SOURCE=a.example,b.example", "SPILLWAY_S3_SECRET_KEY=s3-word", "SPILLWAY_CONFIG=/etc/spillway.toml",
	} {
		if !slices.Contains(env, want) {
			t.Errorf("it is not told %s", want)
		}
	}
	for _, entry := range env {
		for _, key := range []string{"LISTEN", "ADMIN_LISTEN", "WEBHOOK_KEY", "API_TOKEN_FILE", "SCHEDULER_CONFIG", "WORKER_ID", "QUEUES"} {
			if strings.HasPrefix(entry, "SPILLWAY_"+key+"=") {
				t.Errorf("it is told %s", entry)
			}
		}
	}
	loaded, err := settings.Load(slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, "SPILLWAY_CONFIG=") }), "")
	if err != nil {
		t.Fatalf("it cannot read what it is told: %v", err)
	}
	if got := loaded.Config(); got.Database != c.Database || len(got.AllowSource) != 2 || got.Lease != c.Lease || len(loaded.Warnings) > 0 {
		t.Errorf("it reads %+v, warnings %v", got.Groups, loaded.Warnings)
	}
}
