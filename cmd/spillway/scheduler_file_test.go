package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// private puts a file where only this user can write.
func private(t *testing.T, name, content string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return put(t, dir, name, []byte(content))
}

func TestConfigCheckTellsFaultsOfTheSchedulersFile(t *testing.T) {
	path := private(t, "scheduler.json", `{"mode": "hybrid", "queues": {"ocr": {"max_wokers": 3}}, "cost_limits": {"max_hourly_spend_cents": 500}}`)
	want := strings.ReplaceAll(`spillway: queues.ocr.max_wokers: is no key; did you mean "max_workers"? (FILE)
spillway: cost_limits.max_daily_spend_cents: must be there when mode is hybrid (FILE)
`, "FILE", path)
	for name, r := range map[string]result{
		"named by a flag":            run(t, nil, "config", "check", "--scheduler-config", path),
		"named in the environment":   run(t, []string{"SPILLWAY_SCHEDULER_CONFIG=" + path}, "config", "check"),
		"named in the settings file": run(t, nil, "config", "check", put(t, t.TempDir(), "a.toml", []byte(`scheduler-config = "`+path+`"`))),
	} {
		if diff := cmp.Diff(want, r.stderr); diff != "" || r.code != 1 {
			t.Errorf("%s: exit code %d, faults differ (-want +got):\n%s", name, r.code, diff)
		}
	}
}

func TestConfigCheckRefusesASchedulersFileThatOthersCanWrite(t *testing.T) {
	path := private(t, "scheduler.json", `{}`)
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	r := run(t, nil, "config", "check", "--scheduler-config", path)
	if r.code != 1 || !strings.Contains(r.stderr, "scheduler-config: "+path+" can be written by others (mode 0666)") {
		t.Errorf("result = %+v", r)
	}
}

func TestConfigCheckWarnsOfTheSampleFile(t *testing.T) {
	sample, err := os.ReadFile(filepath.Join("..", "..", "deploy", "scheduler.sample.json"))
	if err != nil {
		t.Fatal(err)
	}
	path := private(t, "scheduler.json", string(sample))
	r := run(t, nil, "config", "check", "--scheduler-config", path)
	if r.code != 0 || !strings.HasSuffix(r.stdout, "\n"+path+" is in order: mode vps_only, policy seed, 3 warnings\n") {
		t.Errorf("result = %+v", r)
	}
	for _, want := range []string{"cost_limits.alert_threshold_cents: is 3000", "cloud_providers.ionos.datacenter: is", "cloud_providers.ionos.server_type: is"} {
		if !strings.Contains(r.stderr, "spillway: warning: "+want) {
			t.Errorf("no warning says %q:\n%s", want, r.stderr)
		}
	}
}

func TestConfigCheckComparesCreditsWithCostWhenThereIsADatabase(t *testing.T) {
	path := private(t, "scheduler.json", `{"queues": {"ocr": {"credit_cents_per_job": 1}}}`)
	missing := filepath.Join(t.TempDir(), "none.db")
	r := run(t, []string{"SPILLWAY_DATABASE=sqlite://" + missing}, "config", "check", "--json", "--scheduler-config", path)
	var report struct {
		Scheduler struct {
			Mode     string
			Warnings []struct{ Path, Text string }
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.code != 0 {
		t.Fatalf("result = %+v, %v", r, err)
	}
	if w := report.Scheduler.Warnings; len(w) != 1 || w[0].Path != "credit_margin_percent" || !strings.Contains(w[0].Text, "credits are not compared with cost") {
		t.Errorf("warnings = %+v", w)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("a check has made a database")
	}
}
